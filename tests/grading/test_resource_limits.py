"""Tests of limits outside the sandbox: a submission must cost only itself."""

import csv
import io
import json
import os
import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from html.parser import HTMLParser
from zoneinfo import ZoneInfo

import command
import nbformat
import numpy as np
import pytest
from hostile_class import LINKS, PIXEL, beside
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from our_course import COURSE, ROOT, lab
from sample_class import perfect, with_answer
from worker_functions import (
    die,
    die_after_stage,
    die_once,
    die_or_not,
    fail_and_go_on,
    fail_in_stage,
    fail_without_words,
    grow,
    grow_in_stage,
    leave_behind,
    need,
    recurse,
    sleep_with_a_stage,
)

from autograder.core.course import CourseError
from autograder.core.files import write_file
from autograder.core.notebook_cells import make_grade_id
from autograder.core.text_format import make_printable
from autograder.diagnosis.render import render_tables
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.deadlines import parse_timestamp, set_aside_invalid_timestamp
from autograder.gradebook.graded_submission import GradingOptions
from autograder.gradebook.policy import Policy, parse_extension, read_policy
from autograder.grading import pool, sanitise
from autograder.grading.grade_submission import (
    READING_STAGE,
    CellResults,
    _fill_outputs_and_list_results,
    grade_submission,
    release_for_grading,
)
from autograder.grading.pool import get_sandbox
from autograder.grading.rebuild_notebook import (
    MAX_CELLS,
    UnreadableNotebook,
    read_cells,
    rebuild_notebook,
)
from autograder.grading.worker import (
    CallFailed,
    LimitExceeded,
    Worker,
    WorkerDied,
    run_calls_in_workers,
)
from autograder.judging.judge import judge
from autograder.reports import safe_formgrader
from autograder.reports.platform_csv import escape_formula
from autograder.reports.pseudonyms import assign_pseudonyms
from autograder.sandbox.inside.outputs import CellOutputs, OutputBudget
from autograder.values.case_records import CallOutcome
from autograder.values.encoding import read_frame
from autograder.values.value_types import EncodingError
from similarity import shared_passages as similarity

LAB = "additive-attention"


# The watchdog


def seconds_of(action):
    start = time.monotonic()
    action()
    return time.monotonic() - start


@pytest.fixture
def worker():
    worker = Worker()
    yield worker
    worker.close()


@pytest.mark.parametrize(
    ("arguments", "limits", "kind", "message"),
    [
        ((time.sleep, 60), {"seconds": 0.2}, LimitExceeded, "takes more than 0.2 seconds"),
        pytest.param(
            (sleep_with_a_stage, "x", 60),
            {},
            LimitExceeded,
            "Reading it takes more than 0.5 seconds",
            marks=pytest.mark.long,
        ),
        ((grow, 900), {"memory": 300}, LimitExceeded, "needs more than 300 MB of memory"),
        ((grow_in_stage, 5_000), {}, LimitExceeded, "Reading it needs too much memory"),
        ((fail_in_stage,), {}, CallFailed, "Reading it KeyError: 'x'"),
        ((fail_without_words,), {}, CallFailed, "Mute"),
        ((die, 1), {}, WorkerDied, "ended the process"),
        ((recurse,), {}, CallFailed, "RecursionError"),
    ],
)
def test_what_goes_over_a_limit_ends_alone(worker, arguments, limits, kind, message):
    with pytest.raises(kind, match=message):
        worker.run(*arguments, **limits)
    assert worker.run(sleep_with_a_stage, "next", 0) == "next"


def test_a_death_after_a_stage_is_none_of_that_stage(worker):
    with pytest.raises(WorkerDied) as caught:
        worker.run(die_after_stage)
    assert caught.value.stage == "" and "Reading it" not in str(caught.value)


def test_after_a_failure_that_was_dealt_with_its_clock_does_not_run_on(worker):
    assert worker.run(fail_and_go_on) == "done"


@pytest.mark.long
def test_what_one_leaves_behind_is_not_counted_against_the_next(worker):
    worker.run(leave_behind, 250)
    assert worker.run(need, 250, memory=400) == "250"
    worker.run(leave_behind, 10)
    with pytest.raises(LimitExceeded, match="needs more than 400 MB"):
        worker.run(need, 500, memory=400)


def test_a_process_that_died_by_chance_is_tried_again_and_the_others_go_on(tmp_path):
    calls = [("sleep", 0)] * 3
    results = dict(run_calls_in_workers(sleep_with_a_stage, calls, workers=2))
    assert list(results.values()) == ["sleep"] * 3
    assert dict(run_calls_in_workers(die_once, [(str(tmp_path / "once"),)], workers=2)) == {
        0: "alive"
    }
    mixed_results = dict(run_calls_in_workers(die_or_not, [(n,) for n in range(6)], workers=2))
    assert [
        isinstance(
            mixed_results[n],
            WorkerDied,
        )
        for n in range(6)
    ] == [n == 2 for n in range(6)]


@pytest.mark.parametrize(
    ("problem", "alone", "message"),
    [
        (
            LimitExceeded(
                "takes more than 20 seconds",
                READING_STAGE,
            ),
            False,
            "it takes more than 20 seconds",
        ),
        (CallFailed("KeyError: 'x'", READING_STAGE), False, "its contents are not a notebook's"),
        (
            WorkerDied("ended the process that worked on it", READING_STAGE),
            True,
            "it ended the process that worked on it",
        ),
    ],
)
def test_a_file_that_cannot_be_read_within_its_limits_is_no_fault(
    monkeypatch,
    problem,
    alone,
    message,
):
    class Reader:
        def run(self, function, *arguments, **limits):
            if arguments[3] is not None:
                raise problem
            return function(*arguments)

    monkeypatch.setattr(pool, "get_worker", Reader)
    text = pool.grade_in_worker_as_json(str(ROOT), LAB, b"x", "", GradingOptions(), alone)
    rows = json.loads(text)["rows"]
    assert {row["verdict"] for row in rows} == {"missing"}
    assert message in rows[0]["message"]
    monkeypatch.setattr(problem, "stage", "")
    with pytest.raises(type(problem)):
        pool.grade_in_worker_as_json(str(ROOT), LAB, b"x", "", GradingOptions(), alone)


def test_a_submission_has_time_for_its_run_and_the_follow_through(monkeypatch):
    given_seconds = []

    class FakeWorker:
        def run(self, function, *arguments, seconds, memory):
            given_seconds.append(seconds)
            return "{}"

    limits = pool.RunLimits(total_seconds=1000)
    monkeypatch.setattr(pool, "get_worker", FakeWorker)
    monkeypatch.setattr(pool, "_get_worker_restarted_for_new_lab", lambda lab: FakeWorker())
    monkeypatch.setattr(pool, "_release_json", lambda *arguments: "{}")
    monkeypatch.setattr(pool, "_run_limits", lambda lab: limits)
    pool.grade_in_worker_as_json(str(ROOT), LAB, b"", "", GradingOptions(sandbox="bubblewrap"))
    assert given_seconds[0] > 2 * limits.total_seconds


# Links and pictures


class RenderedPage(HTMLParser):
    """Parser for what a browser would follow, load or run, independent of the tested code."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.acts = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag in {
            "script",
            "iframe",
            "object",
            "embed",
            "form",
            "svg",
            "base",
            "meta",
            "link",
            "style",
        }:
            self.acts.append(tag)
        for name, value in attributes:
            address = "".join(c for c in value or "" if c > " ").lower()
            if name.startswith("on") or (
                name in {"href", "src", "xlink:href", "action", "srcset"}
                and not address.startswith(
                    ("http://", "https://", "mailto:", "#", "data:image/png;base64,iv")
                )
            ):
                self.acts.append(f"{name}={value}")
            if name == "src" and not address.startswith("data:image/png;base64,"):
                self.acts.append(f"{name}={value}")

    handle_startendtag = handle_starttag


def rendered_by_nbconvert(text, attachments=None):
    from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

    renderer = IPythonRenderer(escape=False, attachments=attachments or {})
    return MarkdownWithMath(renderer=renderer).render(text)


def test_there_are_thirty_spellings_and_the_test_sees_what_acts():
    assert len(LINKS) >= 30
    acting = [
        link
        for link in LINKS
        if "attachment:" not in link and RenderedPage(rendered_by_nbconvert(link)).acts
    ]
    assert len(acting) >= 25, "the tests would see nothing"


@pytest.mark.parametrize("link", LINKS)
def test_no_spelling_of_a_link_acts(link):
    assert RenderedPage(sanitise.render_markdown(link)).acts == []
    output = {"output_type": "display_data", "data": {"text/markdown": link, "text/html": link}}
    clean_data = sanitise.clean_output(output).data
    assert "text/markdown" not in clean_data
    assert RenderedPage(clean_data["text/html"]).acts == []
    latex = sanitise.clean_output(
        {"output_type": "display_data", "data": {"text/latex": link}},
    ).data
    assert set(latex) == {"text/html"}
    assert RenderedPage(latex["text/html"]).acts == []


@given(
    st.lists(
        st.sampled_from(
            [*LINKS, "`", "\n\n", "    ", "$", "$$", "<", "&lt;", "\\", "[", "](", ")", "*"],
        )
    )
)
def test_no_mixture_of_links_acts(parts):
    text = "".join(parts)
    assert RenderedPage(rendered_by_nbconvert(sanitise.make_markdown_code_block(text))).acts == []
    assert RenderedPage(sanitise.render_markdown(text)).acts == []


def test_honest_links_formulas_and_words_stay():
    for text in (
        "See [NumPy](https://numpy.org/doc) and <https://x.org>; the data: rows, javascript: no.",
        "$a_{ij} = [1, 2]$ and `x[0]`: **good**\n\n- one: two\n- [x] done",
        "[a][r]\n\n[r]: https://numpy.org 'NumPy'",
    ):
        assert sanitise.simplify_slow_markdown(text) == text
    page = sanitise.render_markdown("[NumPy](https://numpy.org) $x$")
    assert '<a href="https://numpy.org"' in page and "<math" in page


def test_a_picture_from_elsewhere_is_not_fetched():
    assert "(a picture that is not here: x)" in sanitise.render_markdown(
        "![x](https://a.org/b.png)"
    )


def test_an_honest_pasted_picture_is_kept_and_shown():
    """Regression: attachments were dropped, but the references to them stayed."""
    text = "See ![image.png](attachment:image.png)"
    cell = {"attachments": {"image.png": {"image/png": PIXEL}}}
    pictures = sanitise.extract_pictures(cell)
    assert sanitise.simplify_slow_markdown(text, pictures) == text
    assert PIXEL in rendered_by_nbconvert(text, pictures)
    assert PIXEL in sanitise.render_markdown(text, pictures)
    notebook = json.loads(release_bytes())
    answer = next(
        c
        for c in notebook["cells"]
        if c["metadata"].get("nbgrader", {}).get("solution") and c["cell_type"] == "markdown"
    )
    answer |= {"source": text, **cell}
    rebuilt = rebuild_notebook(json.dumps(notebook).encode(), release_for_grading(lab(LAB)))
    assert any(c.get("attachments") == pictures for c in rebuilt.notebook.cells)


@pytest.mark.parametrize(
    "attachments",
    [
        {"a.png": {"image/svg+xml": "PHN2Zz4="}},
        {"a.png": {"image/png": "PHN2Zz4="}},
        {"a.png": {"image/png": PIXEL[:8] + '" onerror="x'}},
        {"a.png": {"text/html": "<script>"}},
        {"a.png": [PIXEL]},
        [PIXEL],
        {"a.png": {"image/png": "iVBORw0KGgoA" + "A" * 6_000_000}},
    ],
)
def test_what_is_no_picture_is_not_kept(attachments):
    assert sanitise.extract_pictures({"attachments": attachments}) == {}


def release_bytes():
    return (ROOT / "notebooks" / LAB / f"{LAB}.ipynb").read_bytes()


# Nothing takes long, or much


TAKES_LONG = {
    "dots": ("code", "a" + ".a" * 900_000),
    "short dots": ("code", "\n".join("a" + ".a" * 200 for _ in range(900))),
    "quotes": ("code", '"\\"""' * 300_000),
    "triples": ("code", ('"""' + "x" * 30 + "\n") * 30_000),
    "perl": ("code", "%%perl\n" + "<<A;" * 20_000),
    "html": ("code", "%%html\n" + "<!--" * 20_000),
    "formulas": ("markdown", "\\\\[" * 500_000),
    "short formulas": ("markdown", "\\\\[" * 6_000),
    "dollars": ("markdown", "$a" * 9_500),
    "environments": ("markdown", "\\begin{a}" * 2_000),
    "brackets": ("markdown", "[" * 19_000),
    "quoted": ("markdown", ">" * 15_000),
    "stars": ("markdown", "*a_" * 6_000),
    "coloured": ("markdown", "```python\n" + "a.a." * 4_500 + "\n```"),
    "backticks": ("markdown", "".join("`" * n + " " for n in range(190))),
}
TAKES_A_SECOND = ("short formulas", "dollars", "environments")  # even within the limits


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if name in TAKES_A_SECOND else ())
        for name in TAKES_LONG
    ],
)
def test_what_would_take_a_renderer_long_is_shown_plain(name):
    from nbconvert.filters import Highlight2HTML

    kind, text = TAKES_LONG[name]
    if kind == "code":
        prepared_text = sanitise.shorten_slow_code(text)
        assert seconds_of(lambda: Highlight2HTML(pygments_lexer="ipython3")(prepared_text)) < 6
    else:
        prepared_text = sanitise.simplify_slow_markdown(text)
        assert seconds_of(lambda: sanitise.render_markdown(prepared_text)) < 6
    assert len(prepared_text) < 300_000


def test_much_code_in_small_cells_is_not_coloured():
    """IPython's lexer takes 50 ms for each cell of 2,000 such characters, of up to 1,000."""
    line = "?a" * 240
    sources = {sanitise.shorten_slow_code(line, as_comments=plain)[:3] for plain in (False, True)}
    assert sources == {"?a?", "# ("}
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(f"{line}\n{n}", id=f"own-{n}") for n in range(400)]
    _fill_outputs_and_list_results(lab(LAB), notebook, CellResults(), text_only=False)
    sources = [cell.source for cell in notebook.cells]
    coloured_count = sum(len(source) for source in sources if not source.startswith("# ("))
    limit = sanitise.MAX_COLOURED_CHARACTERS
    assert 0.9 * limit < coloured_count <= limit


def test_the_formgrader_spends_no_more_than_some_seconds_on_the_markdown_of_a_page(monkeypatch):
    """Regression: a thousand short cells of formulas blocked the formgrader for 90 seconds."""
    moments = iter(range(0, 100, 2))
    monkeypatch.setattr(safe_formgrader, "monotonic", lambda: next(moments))
    page = {"resources": {}, "cell": {}}
    prepared_text = [safe_formgrader.markdown2html(page, "$x$ <b") for _ in range(6)]
    assert ["<math" in page for page in prepared_text] == [True] * 3 + [False] * 3
    assert prepared_text[-1] == "<pre>$x$ &lt;b</pre>"
    most = safe_formgrader.MAX_MARKDOWN_SECONDS
    for seconds, is_rendered in ((most, True), (most + 0.1, False)):
        page = {"resources": {"seconds_of_markdown": seconds}, "cell": {}}
        assert ("<math" in safe_formgrader.markdown2html(page, "$x$")) == is_rendered


def test_escapes_are_gone_before_anything_colours_them():
    """Regression: 800,000 escape sequences kept nbconvert's ansi2html busy for hours."""
    stream = {"output_type": "stream", "name": "stdout", "text": "\x1b[m" * 800_000 + "end"}
    assert "\x1b" not in sanitise.clean_output(stream).text
    error = {
        "output_type": "error",
        "ename": "\x1b]0;x\x07E",
        "evalue": "\x9b31m\x00",
        "traceback": ["\x1b[1mx"],
    }
    assert sanitise.clean_output(error) == {
        "output_type": "error",
        "ename": "E",
        "evalue": "\N{REPLACEMENT CHARACTER}",
        "traceback": ["x"],
    }


def test_sizes_are_looked_at_before_anything_is_built():
    """Regression: six million empty objects in 20 MB needed 4.8 GB."""
    for empty in (b"{}", b"[]"):
        objects = b'{"cells":[' + (empty + b",") * 6_000_000 + empty + b"]}"
        with pytest.raises(UnreadableNotebook, match="more lists and objects"):
            read_cells(objects)
    old = {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code"}] * (MAX_CELLS + 1)}]}
    with pytest.raises(UnreadableNotebook, match="1,001 cells"):
        read_cells(json.dumps(old).encode())


def test_errors_are_limited_in_sum():
    """Regression: a thousand cells could each add three errors of 50 kB, 101 MB in all."""
    budget, record = OutputBudget(output_bytes=10_000, outputs=200), 0
    for _ in range(700):
        outputs = CellOutputs(budget)
        for _ in range(3):
            error = {"output_type": "error", "ename": "E", "evalue": "x" * 49_000, "traceback": []}
            outputs.handle_message(
                {"op": "output", "output": error, "id": None, "update": False}, None
            )
        record += sum(len(o.get("evalue", "")) for o in outputs.to_list())
    assert 0 < record < 1_000_000


def test_outputs_are_limited_in_sum():
    clean = sanitise.OutputCleaner().clean_within_limits
    stream = {"output_type": "stream", "name": "stdout", "text": "x" * 900_000}
    total = sum(sanitise.measure_output(clean(stream)) for _ in range(40))
    assert total < 1.2 * sanitise.MAX_OUTPUT_CHARACTERS


def test_remarks_are_few():
    notebook = json.loads(release_bytes())
    for number in range(900):
        cell = {
            "cell_type": "markdown",
            "source": "x",
            "metadata": {"nbgrader": {"grade_id": f"b{number}" * 90}},
        }
        notebook["cells"].append(cell)
    notes = rebuild_notebook(json.dumps(notebook).encode(), release_for_grading(lab(LAB))).notes
    assert len(notes) <= 21 and max(map(len, notes)) <= 301


def test_two_who_collude_do_not_exhaust_the_report():
    """Regression: two notebooks of 200,000 words took 76 s and 4.9 GB."""
    words = " ".join(f"word{n}" for n in range(200_000))
    cells = [{"cell_type": "markdown", "source": words}]
    works = [similarity.tokenise_cells(cells) for _ in range(2)]
    assert seconds_of(lambda: similarity.find_similar_pairs(works, [])) < 20
    assert len(works[0].words) == similarity.MAX_TOKENS


@pytest.mark.parametrize(
    "source", ['"\\"""' * 100_000, "'''" + "''" * 100_000, '"' + "\\" * 100_001, "#" * 200_000]
)
def test_reading_words_takes_time_that_grows_with_the_text_alone(source):
    cells = [{"cell_type": "code", "source": source}]
    assert seconds_of(lambda: similarity.tokenise_cells(cells)) < 3


# Times


@pytest.mark.parametrize(
    "text",
    [
        "9" * 40 + "h",
        "1e999999999",
        "2026-01-01 10:00:00 1E9999",
        "\x00",
        "2026-13-45",
        "٢٠٢٦",
        "0001-01-01 +23:59",
        "9999-12-31 23:59:59",
        "1960-01-01 10:00",
    ],
)
def test_a_time_that_no_calendar_of_ours_has_is_none(text):
    """Regression: times at the calendar's ends broke nbgrader's list of submissions."""
    moment = parse_timestamp(text)
    assert moment is None or 1970 <= moment.year < 2200
    assert text[:4] not in ("9999", "1960", "0001") or moment is None


def test_a_time_stamp_that_says_none_is_set_aside(tmp_path):
    for text in ("now", "9" * 300, "", "9999-12-31 23:59:59", "\x00"):
        (tmp_path / "timestamp.txt").write_text(text)
        assert set_aside_invalid_timestamp(tmp_path)
        assert (tmp_path / "timestamp.txt.unreadable").read_text() == text
    (tmp_path / "timestamp.txt").write_text("2026-02-02 15:58 UTC")
    assert not set_aside_invalid_timestamp(tmp_path)
    assert not set_aside_invalid_timestamp(tmp_path / "nowhere")
    assert (tmp_path / "timestamp.txt").exists()


def test_the_ends_of_the_calendar_are_told_somehow():
    for zone in ("Asia/Tokyo", "America/New_York"):
        for moment in (datetime(9999, 12, 31, 23, 59), datetime(1, 1, 1)):
            assert Policy(zone=ZoneInfo(zone)).to_local_time(moment).tzinfo is not None


def test_honest_times_are_read():
    for text in (
        "2026-02-02 15:58:23.948203 America/Los_Angeles",
        "2026-02-02 15:58 UTC",
        "2026-02-02T15:58:23+0100",
    ):
        assert parse_timestamp(text) is not None


# Tables and terminals


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\uff1d1+1", "\uff20x", "\u200b=1", "\u00a0=1", '"=1',
     "a;=HYPERLINK(1)", "a; =1", "a;\u200b=1", "a;\u200f=1",
     "a|=cmd|'x'!A0", "a\t=1", "a,=1", "\r\n=1", "%0A=1", "\u2212" "1"],
)  # fmt: skip
def test_a_spreadsheet_shows_text_and_works_nothing_out(text):
    table = io.StringIO()
    csv.writer(table).writerow([escape_formula(text)])
    for delimiter in ",;\t|":
        for cell in next(csv.reader(io.StringIO(table.getvalue()), delimiter=delimiter)):
            assert cell.lstrip(" \u200b\u200f\u00a0")[:1] not in set(
                "=+-@|%\uff1d\uff20\u2212\t\r\n"
            ), (
                delimiter,
                cell,
            )


def test_honest_names_stay_as_they_are():
    for name in (
        "Ada Lovelace",
        "O'Neill",
        "Müller-Lüdenscheid",
        "李 明",
        "می\u200cخواهم",
        "a.b+c@x.org",
    ):
        assert escape_formula(name) == name


def test_what_is_printed_holds_no_control_codes():
    text = make_printable("\x1b]0;title\x07\x1b[31mred\x9b0m\x00\u202e\r\ud800 é\n")
    assert text == "red\ufffd\ufffd\ufffd\ufffd é\n"


# Fuzz

FUZZ_SETTINGS = settings(suppress_health_check=[HealthCheck.too_slow])
JSON_LEAVES = st.sampled_from(
    [
        None,
        True,
        0,
        -1,
        1e999,
        10**400,
        "",
        "x",
        "\ud800",
        "\x00",
        [],
        {},
        [[]],
        "softmax",
        ["a", 1],
        {"a": {}},
    ]
)
JSON = st.recursive(JSON_LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
    st.sampled_from(["cells", "metadata", "nbgrader", "grade_id", "source", "cell_type", "id", "attachments",
                     "worksheets", "nbformat", "outputs", "kernelspec", "language", "tags", "input"]),
    inner, max_size=5), max_leaves=25)  # fmt: skip
CELLS = st.lists(
    st.fixed_dictionaries(
        {}, optional={"cell_type": st.sampled_from(["code", "markdown", "raw", 7, None,],), "source": JSON,
                      "metadata": JSON, "attachments": JSON, "id": JSON, "outputs": JSON},
    ) | JSON, max_size=5)  # fmt: skip


@FUZZ_SETTINGS
@given(st.fixed_dictionaries({"cells": CELLS}, optional={"metadata": JSON}) | JSON)
def test_any_json_is_rebuilt_or_refused(content):
    try:
        rebuilt = rebuild_notebook(json.dumps(content).encode(), release_for_grading(lab(LAB)))
    except UnreadableNotebook:
        return
    json.dumps(rebuilt.notebook, ensure_ascii=False).encode()


@FUZZ_SETTINGS
@given(st.binary(max_size=300))
def test_any_bytes_are_refused_or_read(data):
    for bytes_ in (data, b'{"cells":' + data):
        with suppress(UnreadableNotebook):
            read_cells(bytes_)


@FUZZ_SETTINGS
@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_none(data):
    stream = io.BytesIO(data)

    def take(count):
        piece = stream.read(count)
        if len(piece) < count:
            raise EncodingError("ends")
        return piece

    with pytest.raises(EncodingError):
        read_frame(take)


@FUZZ_SETTINGS
@given(
    JSON
    | st.fixed_dictionaries(
        {"output_type": st.sampled_from(["stream", "error", "display_data"])},
        optional={
            "text": JSON,
            "data": st.dictionaries(
                st.sampled_from(
                    [
                        "text/html",
                        "text/latex",
                        "text/markdown",
                        "image/png",
                        # Fmt: skip
                        "text/plain",
                    ]
                ),
                JSON,
            ),
            "traceback": JSON,
            "evalue": JSON,
            "ename": JSON,
            "name": JSON,
        },
    )
)
@example({"output_type": "display_data", "data": {"text/latex": "\ud800"}})
def test_any_output_is_cleaned(output):
    clean_data = sanitise.OutputCleaner().clean_within_limits(
        output if isinstance(output, dict) else {}
    )
    json.dumps(clean_data, ensure_ascii=False).encode()


@FUZZ_SETTINGS
@given(st.text(max_size=200))
def test_any_text_can_be_shown(text):
    sanitise.simplify_slow_markdown(text)
    assert RenderedPage(rendered_by_nbconvert(sanitise.make_markdown_code_block(text))).acts == []
    assert RenderedPage(sanitise.render_markdown(text)).acts == []
    assert RenderedPage(sanitise.clean_html(text)).acts == []
    sanitise.shorten_slow_code(text)
    sanitise.render_formula(text)
    assert make_printable(text).replace("\n", "").replace("\t", "").isprintable()


# A class: names that mean something elsewhere, at every door

USABLE_NAMES = [
    "salt", "secret", "report", "feedback", "gradebook.db", "results", "=1+1", "-rf", "--help", "+1", "@x", "a;=1",
    "<b>x", "<script>window.mischief=1<", "a&b", "a'b", 'a"b', "%s%n", "{student}", "{{7*7}}", "$HOME", "*", "?", "[a]",
    "~", "a\\b", "CON", "nul.txt", "é", "e\u0301", "李", "a b", "'; DROP TABLE student; --", "x" * 200, "#", "a,b", "None",
]  # fmt: skip
UNUSABLE_NAMES = ["a\x1b[31m", "\u202eabc", "a\nb", "trailing "]


@pytest.fixture(scope="module")
def classroom(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class")
    for name in [*USABLE_NAMES, *UNUSABLE_NAMES]:
        (folder / "submitted" / name / LAB).mkdir(parents=True)
    (folder / "submitted" / "salt" / LAB / "timestamp.txt").write_text("9" * 40 + "h")
    (folder / "submitted" / "secret" / LAB / "timestamp.txt").write_text("1e99999999")
    # What stands where a result would go is that student's fault alone.
    (folder / "results" / "é" / f"{LAB}.json").mkdir(parents=True)
    return folder


def autograder(*arguments):
    return command.autograder(*arguments)


@pytest.fixture(scope="module")
def graded_class(classroom):
    ran = autograder("grade", LAB, "--classroom", classroom, "--json", "-", "--sandbox", "none")
    return ran, [json.loads(line) for line in ran.stdout.splitlines()]


def test_every_name_gets_its_rows_and_nobody_stops_the_run(graded_class):
    ran, rows = graded_class
    assert "Traceback" not in ran.stderr
    assert {row["student"] for row in rows} == set(USABLE_NAMES)
    verdicts = {
        name: {row["verdict"] for row in rows if row["student"] == name} for name in USABLE_NAMES
    }
    assert verdicts.pop("é") == {"fault"}
    assert set(map(frozenset, verdicts.values())) == {frozenset({"missing"})}
    assert ran.returncode == 1  # the refused names, and é, are faults
    assert (
        "\x1b[31m"
        not in ran.stderr.replace(
            "\x1b[31m\x1b[1mNO SANDBOX",
            "",
        )
        and "\u202e" not in ran.stderr
    )


@pytest.mark.long
def test_every_name_gets_a_page_and_a_place_in_the_report(graded_class, classroom):
    ran = autograder("feedback", "--classroom", classroom)
    assert "Traceback" not in ran.stderr
    pages = {path.parent.parent.name for path in (classroom / "feedback").glob("*/*/*.html")}
    assert pages >= set(USABLE_NAMES) - {"é"}, ran.stderr
    ran = autograder("report", "--classroom", classroom)
    assert ran.returncode == 0, ran.stderr
    page = (classroom / "report" / "index.html").read_text()
    assert "<script>window" not in page and "<b>x" not in page
    for name in ("salt", "=1+1", "&lt;b&gt;x", "李"):
        assert name in page
    for path in (classroom / "report").glob("*.csv"):
        for row in csv.reader(io.StringIO(path.read_text("utf-8"))):
            assert not any(cell[:1] in "=+@" for cell in row if cell), row


def test_lone_surrogates_are_no_text_for_the_cleaner():
    """Regression: nh3 raised UnicodeEncodeError."""
    assert sanitise.clean_html("a\ud800b") == "a?b"
    assert "?" in sanitise.render_markdown("a\ud800b")


# A second attack


@pytest.mark.long
def test_the_right_code_of_a_second_run_is_in_no_words_that_are_kept():
    """The second run can see the reference, so an error message could quote it."""
    course_lab = lab("qkv-attention")
    earlier, later = "softmax", "stable_softmax"
    right = course_lab.reference_cells[make_grade_id(earlier)]
    spy = f"""
def {later}(*a, **k):
    seen = [c for c in get_ipython().user_ns["In"] if "def {earlier}(" in c and "mine" not in c]
    if seen:
        raise type("NameError: name x is not defined", (NameError,), {{}})(seen[-1][-150:])
    {earlier}(1)
    raise OSError("z")
"""
    notebook = with_answer(perfect(course_lab), earlier, f"def {earlier}(*a, **k):\n    'mine'\n")
    notebook = with_answer(notebook, later, spy)
    graded_submission = grade_submission(
        json.dumps(notebook).encode(), course_lab, get_sandbox(course_lab, "none"), salt="x"
    )
    row = next(row for row in graded_submission.results if row.exercise == later)
    assert row.message.endswith(
        f" With the right `{earlier}` in place, `{later}` does not pass either."
    )
    assert row.misconception != "name-not-defined"
    assert right.split("\n")[-1].strip() not in json.dumps(
        graded_submission.to_fields(),
    ) + json.dumps(graded_submission.notebook)


def test_numbers_at_the_ends_of_what_a_float_holds_are_coloured():
    """Regression: an infinite difference made the grader fail on the whole submission."""
    ends = np.array([[1.7e308, -1.7e308, 1.0], [np.inf, np.nan, -1.7e308]])
    for expected in (np.zeros((2, 3)), -ends):
        with np.errstate(all="ignore"):
            page = render_tables(expected, ends, 1e-7)
        assert page.count("<table") == 3


def test_a_list_of_thousands_is_compared_at_once():
    """Regression: parts were counted again for each transformation, 30 s an exercise."""
    exercise = lab("tiny-transformer").exercises["model_size"]
    questions = exercise.test_cases() + exercise.test_cases(1)
    answers = [CallOutcome([0] * 13_000, "list") for _ in questions]
    seconds = seconds_of(
        lambda: judge(questions, answers, exercise.rules, exercise.misconceptions, exercise.name, 0)
    )
    assert seconds < 20


def test_names_are_text_in_the_formgrader():
    """The formgrader's templates escape nothing, and students choose their names."""
    hostile_names = {
        "student": "<b>",
        "first_name": "<img src=x onerror=window.mischief=1>",
        "last_name": '"><svg>',
    }
    page = safe_formgrader.SafePages().preprocess(
        nbformat.v4.new_notebook(), {**hostile_names, "index": 1}
    )[1]
    assert page["index"] == 1
    assert not any("<" in page[name] or '"' in page[name] for name in hostile_names)
    handlers = pytest.importorskip("nbgrader.server_extensions.formgrader.handlers")
    safe_formgrader.SafePages()
    context = {}

    class Environment:
        def get_template(self, name):
            return self

        def render(self, **variables):
            context.update(variables)
            return ""

    handler = handlers.BaseHandler.__new__(handlers.BaseHandler)
    handler.application = type("A", (), {"settings": {"nbgrader_jinja2_env": Environment()}})()
    with suppress(AttributeError):
        handlers.BaseHandler.render(
            handler, "x.tpl", student_id="<i>", resources={"filename": "<u>", "index": 2}
        )
    assert safe_formgrader._escape_text({"filename": "<u>", "index": 2}) == {
        "filename": "&lt;u&gt;",
        "index": 2,
    }
    assert handlers.BaseHandler.escapes_names
    assert context.get("student_id", "&lt;i&gt;") == "&lt;i&gt;"


def test_pseudonyms_are_a_table_without_formulas_too(tmp_path):
    """Regression: a program that splits at semicolons evaluated "a;=1+1"."""
    students = ["a;=1+1", 'b;"=2', "=3", "ada", "'=3"]
    first = assign_pseudonyms(students, tmp_path)
    assert assign_pseudonyms(
        reversed(students),
        tmp_path,
    ) == first and len(set(first.values())) == len(students)
    text = (tmp_path / "pseudonyms.csv").read_text()
    for delimiter in ",;\t":
        for row in csv.reader(io.StringIO(text), delimiter=delimiter):
            assert not any(cell.strip(' "')[:1] in tuple("=+-@") for cell in row)


def test_a_line_of_a_result_is_one_line_in_the_terminal(graded_class, classroom):
    """An exception's name could hold lines that look like a good mark."""
    path = classroom / "results" / "salt" / f"{LAB}.json"
    record = json.loads(path.read_text())
    record["rows"][0] |= {
        "message": "E\n  ✓ all   2 of 2  pass\n  In all 100 of 100",
        "verdict": "error",
    }
    original = path.read_text()
    path.write_text(json.dumps(record))
    try:
        ran = autograder("show", "salt", "--classroom", classroom)
    finally:
        path.write_text(original)
    assert "      E ✓ all 2 of 2 pass In all 100 of 100\n" in ran.stdout


@pytest.mark.parametrize(
    "entry",
    [
        {"grace": float("inf")},
        {"grace": float("nan")},
        {"grace": 1e300},
        {"grace": -5},
        {"due": datetime(1, 1, 1, tzinfo=ZoneInfo("Asia/Tokyo"))},
        {"due": datetime(9999, 12, 31, tzinfo=ZoneInfo("America/New_York"))},
        {"dropped": [[1], {}]},
        {"points": {"attention": float("nan")}},
        {"points": {"attention": 10**400}},
    ],
)
def test_a_course_file_of_no_sense_is_a_sentence(entry):
    policy, of_lab = (entry, {}) if "grace" in entry else ({}, entry)
    course = replace(COURSE, policy=policy, lab={LAB: of_lab})
    with pytest.raises(CourseError, match=r"course\.toml"):
        read_policy(course, {LAB: lab(LAB)})


@pytest.mark.parametrize("text", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00+23:59"])
def test_an_extension_to_the_calendars_end_is_a_sentence(text):
    with pytest.raises(ValueError, match="of the years 1970 to 2199"):
        parse_extension(text, datetime(2026, 1, 1, tzinfo=ZoneInfo("UTC")), ZoneInfo("UTC"))


def test_a_link_in_place_of_a_labs_folder_leads_nowhere(tmp_path):
    """Regression: a link renamed another student's timestamp and copied their secret."""
    ada_folder, classroom = tmp_path / "submitted" / "ada" / LAB, Classroom(tmp_path, COURSE)
    ada_folder.mkdir(parents=True)
    (ada_folder / "timestamp.txt").write_text("never")
    (ada_folder / "submission_secret.txt").write_text("secret")
    (tmp_path / "submitted" / "mallory").mkdir()
    (tmp_path / "submitted" / "mallory" / LAB).symlink_to(ada_folder)
    assert not set_aside_invalid_timestamp(tmp_path / "submitted" / "mallory" / LAB)
    assert (ada_folder / "timestamp.txt").exists()
    assert (
        classroom.read_exchange_secret("mallory", LAB) is None
        and classroom.read_exchange_secret("ada", LAB) == "secret"
    )
    assert classroom.read_submission("mallory", LAB).timestamp is None


def test_a_link_in_place_of_a_students_folder_leads_nowhere(tmp_path):
    """Regression: a link gave a student another's file and points."""
    ada_folder, classroom = tmp_path / "submitted" / "ada" / LAB, Classroom(tmp_path, COURSE)
    ada_folder.mkdir(parents=True)
    (ada_folder / f"{LAB}.ipynb").write_bytes(b"{}")
    (ada_folder / "timestamp.txt").write_text("never")
    (ada_folder / "submission_secret.txt").write_text("secret")
    (tmp_path / "submitted" / "mallory").symlink_to(ada_folder.parent)
    assert (
        classroom.read_submission("mallory", LAB).content is None
        and classroom.read_submission("ada", LAB).content == b"{}"
    )
    assert classroom.read_exchange_secret("mallory", LAB) is None
    assert not set_aside_invalid_timestamp(tmp_path / "submitted" / "mallory" / LAB)
    assert (ada_folder / "timestamp.txt").exists()


@pytest.mark.parametrize(
    ("top", "deep"),
    [
        ("results", 1),
        ("autograded", 1),
        ("autograded", 2),
        ("feedback", 1),
        ("feedback", 2),
    ],
)
def test_a_link_in_place_of_a_folder_of_ours_leads_nowhere(tmp_path, top, deep):
    """Regression: a link made files go into, and come from, another student's folder."""
    classroom = Classroom(tmp_path, COURSE)
    paths = {
        "results": classroom.result_path,
        "autograded": classroom.notebook_path,
        "feedback": classroom.page_path,
    }
    write_file(paths[top]("ada", LAB), "ada's")
    link = tmp_path / top / "mallory" / (LAB if deep == 2 else "")
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(tmp_path / top / "ada" / (LAB if deep == 2 else ""))
    files = classroom.list_files(tmp_path / top, "*/*" if top == "results" else "*/*/*")
    assert [path.read_text() for path in files] == ["ada's"]
    assert not paths[top]("mallory", LAB).exists()
    write_file(paths[top]("mallory", LAB), "mallory's")
    assert paths[top]("ada", LAB).read_text() == "ada's" and not link.is_symlink()
    assert (
        (link.with_name(f"{link.name}.was-a-link"))
        .read_text()
        .strip()
        .endswith("ada" if deep == 1 else LAB)
    )


def test_a_link_in_place_of_a_result_is_no_result(tmp_path):
    classroom = Classroom(tmp_path, COURSE)
    write_file(classroom.result_path("ada", LAB), "ada's")
    (tmp_path / "results" / "mallory").mkdir()
    (tmp_path / "results" / "mallory" / f"{LAB}.json").symlink_to(classroom.result_path("ada", LAB))
    assert [
        path.parent.name
        for path in classroom.list_files(
            classroom.results,
            "*/*.json",
        )
    ] == ["ada"]
    assert (
        not classroom.result_path(
            "mallory",
            LAB,
        ).exists()
        and classroom.result_path("ada", LAB).exists()
    )


def test_a_folder_of_results_on_another_disk_is_the_instructors(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "results").symlink_to(tmp_path / "disk")
    classroom = Classroom(tmp_path, COURSE)
    write_file(classroom.result_path("ada", LAB), "ada's")
    assert (
        len(classroom.list_files(classroom.results, "*/*.json")) == 1
        and (tmp_path / "disk" / "ada").is_dir()
    )


def test_links_beside_a_notebook_are_put_aside_before_nbgrader_copies_what_they_lead_to(tmp_path):
    from autograder.grading.nbgrader_autograde import replace_links_and_invalid_timestamps as hook

    folder = tmp_path / "submitted" / "ada" / LAB
    (folder / "below").mkdir(parents=True)
    (folder / f"{LAB}.ipynb").write_bytes(b"{}")
    (folder / "below" / "passwd.txt").symlink_to("/etc/passwd")
    (folder / "root").symlink_to("/")
    hook(LAB, "ada", [str(folder / f"{LAB}.ipynb")])
    assert not [path for path in folder.rglob("*") if path.is_symlink()]
    assert (folder / "below" / "passwd.txt.was-a-link").read_text() == "/etc/passwd\n"


@pytest.mark.parametrize("text", ["a=1\n" * 60_000, "\\\n" * 50_000, "\x0c\x0b\r" * 20_000])
def test_short_lines_cost_as_much_as_they_are_many(text):
    """Regression: a page of 50,000 short lines blocked the formgrader for 3 s each time."""
    from autograder.grading.sanitise import (
        MAX_CODE_CHARACTERS,
        estimate_rendering_cost,
        shorten_slow_code,
        truncate_source,
    )

    for record in (shorten_slow_code(text), truncate_source(text, MAX_CODE_CHARACTERS)):
        assert len(record.splitlines()) < 4_000 and "lines more are not shown here" in record
    assert estimate_rendering_cost(shorten_slow_code(text)) < 1.1 * MAX_CODE_CHARACTERS


def test_a_forged_frame_is_named_to_the_instructor_and_told_calmly_to_the_student():
    from autograder.core.results import CellOutcome, Verdict
    from autograder.grading.grade_submission import _explain_missing_outcomes
    from autograder.sandbox import CellRun

    exercise = next(iter(lab(LAB).exercises.values()))
    finding = _explain_missing_outcomes(
        exercise, CellRun(status=CellOutcome.CRASH, outcomes=[], forged=True), CellRun()
    )
    assert finding.verdict is Verdict.CRASH
    assert (
        finding.message
        == f"`{exercise.name}` could not be asked: this notebook writes where only its answers may go."
    )


@pytest.mark.long
def test_honest_submissions_are_the_same_beside_the_hostile(tmp_path):
    """Marks and pages are equal to the byte; `tests/hostile_class.py` prints the times."""
    results_by_class = beside(tmp_path, lab(LAB), honest=4)
    assert len(results_by_class[False]) == 4 and len(results_by_class[True]) >= 24
    for student, (marks, page, _) in results_by_class[False].items():
        assert results_by_class[True][student][:2] == (marks, page)


@pytest.mark.skipif(
    os.name != "posix",
    reason="nbgrader's exchange is for one machine of several accounts",
)
def test_one_submission_in_the_exchange_keeps_nobody_elses_out(tmp_path, caplog):
    """Regression: a broken link ended `nbgrader collect`, and it believed folders' names."""
    from nbgrader.coursedir import CourseDirectory

    from autograder.gradebook import nbgrader_exchange

    collect = nbgrader_exchange.Collect(coursedir=CourseDirectory(), check_owner=False)
    collect.inbound_path = str(tmp_path)

    def inbound(student, hour="10"):
        folder = tmp_path / f"{student}+{LAB}+2026-11-20 {hour}:00:00 UTC+x"
        folder.mkdir()
        (folder / f"{LAB}.ipynb").write_bytes(b"{}")
        return folder

    def copy_submission(folder):
        target = tmp_path / "to" / folder.name
        collect.do_copy(str(folder), str(target))
        return sorted(p.name for p in target.rglob("*")) if target.exists() else None

    dangling, outside, pipe, large, link_target = map(
        inbound, ("dangling", "outside", "pipe", "large", "linked")
    )
    (dangling / "x").symlink_to("/nowhere")
    (outside / "passwd").symlink_to("/etc/passwd")
    (outside / "etc").symlink_to("/etc")
    os.mkfifo(pipe / "p")
    with open(large / "data", "wb") as file:
        file.truncate(nbgrader_exchange.MAX_SUBMISSION_BYTES + 1)
    for folder in (dangling, outside, pipe):
        assert copy_submission(folder) == [f"{LAB}.ipynb"]
    assert copy_submission(large) is None
    (tmp_path / "link+x+y").symlink_to(link_target)
    assert copy_submission(tmp_path / "link+x+y") is None
    collect.check_owner = True
    assert copy_submission(inbound("somebody-else")) is None
    own_account = nbgrader_exchange.pwd.getpwuid(os.getuid()).pw_name
    records = [
        {"filename": folder.name, "timestamp": hour}
        for hour, folder in (
            (10, inbound(own_account, "10")),
            (12, inbound(f"{own_account}x", "12")),
            (11, inbound(own_account, "11")),
        )
    ]
    assert [r["timestamp"] for r in collect._sort_by_timestamp(records)] == [11, 10, 12]
