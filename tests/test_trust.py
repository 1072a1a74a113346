"""One hand-in costs only itself, outside the sandbox too: limits, names, links, times, tables."""

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

from alike import compare as similarity
from autograder.cells import grade_id
from autograder.course import CourseError
from autograder.errors import printable
from autograder.feedback import tables
from autograder.files import write
from autograder.grading.marking import mark, sanitise
from autograder.grading.marking.handin import MAX_CELLS, Unreadable, read, rebuild
from autograder.grading.marking.mark import READING, _Judged, _with_outputs, release_for_marking
from autograder.grading.nbgrader import formgrader
from autograder.grading.nbgrader.gradebook import put_aside_time, utc_of
from autograder.grading.register.classroom import Classroom
from autograder.grading.register.policy import Policy, granted, read_policy
from autograder.grading.reports.pseudonyms import pseudonyms
from autograder.grading.reports.tables import harmless
from autograder.grading.run import pool
from autograder.grading.run.limited import Died, Exceeded, Failed, Worker, each
from autograder.grading.run.pool import sandbox_for
from autograder.grading.sandbox.inside.outputs import Budget, Outputs
from autograder.judging.frames import read_frame
from autograder.judging.judge import judge
from autograder.judging.kinds import FrameError
from autograder.judging.question import Answer

LAB = "additive-attention"


# The watchdog


def seconds_of(action):
    begun = time.monotonic()
    action()
    return time.monotonic() - begun


@pytest.fixture
def worker():
    worker = Worker()
    yield worker
    worker.close()


@pytest.mark.parametrize(
    ("what", "limits", "kind", "why"),
    [
        ((time.sleep, 60), {"seconds": 0.5}, Exceeded, "takes more than 0.5 seconds"),
        ((sleep_with_a_stage, "x", 60), {}, Exceeded, "Reading it takes more than 0.5 seconds"),
        ((grow, 900), {"memory": 300}, Exceeded, "needs more than 300 MB of memory"),
        ((grow_in_stage, 5_000), {}, Exceeded, "Reading it needs too much memory"),
        ((fail_in_stage,), {}, Failed, "Reading it KeyError: 'x'"),
        ((fail_without_words,), {}, Failed, "Mute"),
        ((die, 1), {}, Died, "ended the process"),
        ((recurse,), {}, Failed, "RecursionError"),
    ],
)
def test_what_goes_over_a_limit_ends_alone(worker, what, limits, kind, why):
    with pytest.raises(kind, match=why):
        worker.run(*what, **limits)
    assert worker.run(sleep_with_a_stage, "next", 0) == "next"


def test_after_a_failure_that_was_dealt_with_its_clock_does_not_run_on(worker):
    assert worker.run(fail_and_go_on) == "done"


def test_what_one_leaves_behind_is_not_counted_against_the_next(worker):
    worker.run(leave_behind, 250)
    assert worker.run(need, 250, memory=400) == "250"
    worker.run(leave_behind, 10)
    with pytest.raises(Exceeded, match="needs more than 400 MB"):
        worker.run(need, 500, memory=400)


def test_a_process_that_died_by_chance_is_tried_again_and_the_others_go_on(tmp_path):
    calls = [("sleep", 0)] * 3
    done = dict(each(sleep_with_a_stage, calls, workers=2))
    assert list(done.values()) == ["sleep"] * 3
    assert dict(each(die_once, [(str(tmp_path / "once"),)], workers=2)) == {0: "alive"}
    mixed = dict(each(die_or_not, [(n,) for n in range(6)], workers=2))
    assert [isinstance(mixed[n], Died) for n in range(6)] == [n == 2 for n in range(6)]


@pytest.mark.parametrize(
    ("problem", "alone", "why"),
    [
        (Exceeded("takes more than 20 seconds", READING), False, "it takes more than 20 seconds"),
        (Failed("KeyError: 'x'", READING), False, "its contents are not a notebook's"),
        (
            Died("ended the process that worked on it", READING),
            True,
            "it ended the process that worked on it",
        ),
    ],
)
def test_a_file_that_cannot_be_read_within_its_limits_is_no_fault(monkeypatch, problem, alone, why):
    class Reader:
        def run(self, function, *arguments, **limits):
            if arguments[3] is not None:
                raise problem
            return function(*arguments)

    monkeypatch.setattr(pool, "worker", Reader)
    text = pool.mark_limited(str(ROOT), LAB, b"x", "", pool.Options(), alone)
    rows = json.loads(text)["rows"]
    assert {row["verdict"] for row in rows} == {"missing"}
    assert why in rows[0]["message"]
    monkeypatch.setattr(problem, "stage", "")
    with pytest.raises(type(problem)):
        pool.mark_limited(str(ROOT), LAB, b"x", "", pool.Options(), alone)


# Links and pictures


class Page(HTMLParser):
    """What a browser would follow, load or run, found without the code that is tested."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.acts = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        if tag in {"script", "iframe", "object", "embed", "form", "svg", "base", "meta", "link", "style"}:
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
    acting = [link for link in LINKS if "attachment:" not in link and Page(rendered_by_nbconvert(link)).acts]
    assert len(acting) >= 25, "the tests would see nothing"


@pytest.mark.parametrize("link", LINKS)
def test_no_spelling_of_a_link_acts(link):
    assert Page(sanitise.render_markdown(link)).acts == []
    output = {"output_type": "display_data", "data": {"text/markdown": link, "text/html": link}}
    cleaned = sanitise.clean_output(output).data
    assert "text/markdown" not in cleaned
    assert Page(cleaned["text/html"]).acts == []
    latex = sanitise.clean_output({"output_type": "display_data", "data": {"text/latex": link}}).data
    assert set(latex) == {"text/html"}
    assert Page(latex["text/html"]).acts == []


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from([*LINKS, "`", "\n\n", "    ", "$", "$$", "<", "&lt;", "\\", "[", "](", ")", "*"])
    )
)
def test_no_mixture_of_links_acts(parts):
    text = "".join(parts)
    assert Page(rendered_by_nbconvert(sanitise.plain_markdown(text))).acts == []
    assert Page(sanitise.render_markdown(text)).acts == []


def test_honest_links_formulas_and_words_stay():
    for text in (
        "See [NumPy](https://numpy.org/doc) and <https://x.org>; the data: rows, javascript: no.",
        "$a_{ij} = [1, 2]$ and `x[0]`: **good**\n\n- one: two\n- [x] done",
        "[a][r]\n\n[r]: https://numpy.org 'NumPy'",
    ):
        assert sanitise.kept_markdown(text) == text
    page = sanitise.render_markdown("[NumPy](https://numpy.org) $x$")
    assert '<a href="https://numpy.org"' in page and "<math" in page


def test_a_picture_from_elsewhere_is_not_fetched():
    assert "(a picture that is not here: x)" in sanitise.render_markdown("![x](https://a.org/b.png)")


def test_an_honest_pasted_picture_is_kept_and_shown():
    """Attachments were dropped and their references left: no feedback page, and an error in the formgrader."""
    text = "See ![image.png](attachment:image.png)"
    cell = {"attachments": {"image.png": {"image/png": PIXEL}}}
    pictures = sanitise.pictures_of(cell)
    assert sanitise.kept_markdown(text, pictures) == text
    assert PIXEL in rendered_by_nbconvert(text, pictures)
    assert PIXEL in sanitise.render_markdown(text, pictures)
    notebook = json.loads(release_bytes())
    answer = next(
        c
        for c in notebook["cells"]
        if c["metadata"].get("nbgrader", {}).get("solution") and c["cell_type"] == "markdown"
    )
    answer |= {"source": text, **cell}
    rebuilt = rebuild(json.dumps(notebook).encode(), release_for_marking(lab(LAB)))
    assert any(c.get("attachments") == pictures for c in rebuilt.notebook.cells)


@pytest.mark.parametrize(
    "attached",
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
def test_what_is_no_picture_is_not_kept(attached):
    assert sanitise.pictures_of({"attachments": attached}) == {}


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


@pytest.mark.parametrize("name", TAKES_LONG)
def test_what_would_take_a_renderer_long_is_shown_plain(name):
    from nbconvert.filters import Highlight2HTML

    kind, text = TAKES_LONG[name]
    if kind == "code":
        shown = sanitise.shown_code(text)
        assert seconds_of(lambda: Highlight2HTML(pygments_lexer="ipython3")(shown)) < 6
    else:
        shown = sanitise.kept_markdown(text)
        assert seconds_of(lambda: sanitise.render_markdown(shown)) < 6
    assert len(shown) < 300_000


def test_much_code_in_small_cells_is_not_coloured():
    """IPython's lexer takes 50 ms for a cell of 2,000 characters such as these; there can be a thousand."""
    line = "?a" * 240
    sources = {sanitise.shown_code(line, plain=plain)[:3] for plain in (False, True)}
    assert sources == {"?a?", "# ("}
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(f"{line}\n{n}", id=f"own-{n}") for n in range(400)]
    _with_outputs(lab(LAB), notebook, _Judged(), plain=False)
    coloured = sum(len(cell.source) for cell in notebook.cells if not cell.source.startswith("# ("))
    assert 0.9 * sanitise.MAX_COLOURED < coloured <= sanitise.MAX_COLOURED


def test_the_formgrader_spends_no_more_than_some_seconds_on_the_markdown_of_a_page(monkeypatch):
    """A thousand short cells of formulas kept it busy for a minute and a half, for everybody."""
    moments = iter(range(0, 100, 2))
    monkeypatch.setattr(formgrader, "monotonic", lambda: next(moments))
    page = {"resources": {}, "cell": {}}
    shown = [formgrader.markdown2html(page, "$x$ <b") for _ in range(6)]
    assert ["<math" in one for one in shown] == [True] * 3 + [False] * 3
    assert shown[-1] == "<pre>$x$ &lt;b</pre>"


def test_escapes_are_gone_before_anything_colours_them():
    """800,000 times ESC[m kept nbconvert's ansi2html busy for hours."""
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
    """Six million empty objects in 20 MB needed 4.8 GB; 330,000 cells of the old format were converted first."""
    objects = b'{"cells":[' + b"{}," * 6_000_000 + b"{}]}"
    with pytest.raises(Unreadable, match="more lists and objects"):
        read(objects)
    old = {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code"}] * (MAX_CELLS + 1)}]}
    with pytest.raises(Unreadable, match="1,001 cells"):
        read(json.dumps(old).encode())


def test_errors_are_limited_in_sum():
    """After a flood each of a thousand cells could add three errors of 50 kB: 101 MB."""
    budget, kept = Budget(output_bytes=10_000, outputs=200), 0
    for _ in range(700):
        outputs = Outputs(budget)
        for _ in range(3):
            error = {"output_type": "error", "ename": "E", "evalue": "x" * 49_000, "traceback": []}
            outputs.take({"op": "output", "output": error, "id": None, "update": False}, None)
        kept += sum(len(o.get("evalue", "")) for o in outputs.kept())
    assert 0 < kept < 1_000_000


def test_outputs_are_limited_in_sum():
    clean = sanitise.Cleaner()
    stream = {"output_type": "stream", "name": "stdout", "text": "x" * 900_000}
    assert sum(sanitise.size_of(clean(stream)) for _ in range(40)) < 1.2 * sanitise.MAX_KEPT


def test_remarks_are_few():
    notebook = json.loads(release_bytes())
    for number in range(900):
        cell = {
            "cell_type": "markdown",
            "source": "x",
            "metadata": {"nbgrader": {"grade_id": f"b{number}" * 90}},
        }
        notebook["cells"].append(cell)
    notes = rebuild(json.dumps(notebook).encode(), release_for_marking(lab(LAB))).notes
    assert len(notes) <= 21 and max(map(len, notes)) <= 301


def test_two_who_collude_do_not_exhaust_the_report():
    """Two notebooks of 200,000 words took 76 s and 4.9 GB."""
    words = " ".join(f"word{n}" for n in range(200_000))
    cells = [{"cell_type": "markdown", "source": words}]
    works = [similarity.read_work(cells) for _ in range(2)]
    assert seconds_of(lambda: similarity.alike(works, [])) < 20
    assert len(works[0].words) == similarity.MOST


@pytest.mark.parametrize(
    "source", ['"\\"""' * 100_000, "'''" + "''" * 100_000, '"' + "\\" * 100_001, "#" * 200_000]
)
def test_reading_words_takes_time_that_grows_with_the_text_alone(source):
    assert seconds_of(lambda: similarity.read_work([{"cell_type": "code", "source": source}])) < 3


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
    """The ends of the calendar cannot be told in another zone: nbgrader's list of hand-ins failed on them."""
    moment = utc_of(text)
    assert moment is None or 1970 <= moment.year < 2200
    assert text[:4] not in ("9999", "1960", "0001") or moment is None


def test_a_time_stamp_that_says_none_is_put_aside(tmp_path):
    for text in ("now", "9" * 300, "", "9999-12-31 23:59:59", "\x00"):
        (tmp_path / "timestamp.txt").write_text(text)
        assert put_aside_time(tmp_path)
        assert (tmp_path / "timestamp.txt.unreadable").read_text() == text
    (tmp_path / "timestamp.txt").write_text("2026-02-02 15:58 UTC")
    assert not put_aside_time(tmp_path) and not put_aside_time(tmp_path / "nowhere")
    assert (tmp_path / "timestamp.txt").exists()


def test_the_ends_of_the_calendar_are_told_somehow():
    for zone in ("Asia/Tokyo", "America/New_York"):
        for moment in (datetime(9999, 12, 31, 23, 59), datetime(1, 1, 1)):
            assert Policy(zone=ZoneInfo(zone)).local(moment).tzinfo is not None


def test_honest_times_are_read():
    for text in (
        "2026-02-02 15:58:23.948203 America/Los_Angeles",
        "2026-02-02 15:58 UTC",
        "2026-02-02T15:58:23+0100",
    ):
        assert utc_of(text) is not None


# Tables and terminals


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\uff1d1+1", "\uff20x", "\u200b=1", "\u00a0=1", '"=1',
     "a;=HYPERLINK(1)", "a; =1", "a;\u200b=1", "a;\u200f=1",
     "a|=cmd|'x'!A0", "a\t=1", "a,=1", "\r\n=1", "%0A=1", "\u2212" "1"],
)  # fmt: skip
def test_a_spreadsheet_shows_text_and_works_nothing_out(text):
    table = io.StringIO()
    csv.writer(table).writerow([harmless(text)])
    for delimiter in ",;\t|":
        for cell in next(csv.reader(io.StringIO(table.getvalue()), delimiter=delimiter)):
            assert cell.lstrip(" \u200b\u200f\u00a0")[:1] not in set("=+-@|%\uff1d\uff20\u2212\t\r\n"), (
                delimiter,
                cell,
            )


def test_honest_names_stay_as_they_are():
    for name in ("Ada Lovelace", "O'Neill", "Müller-Lüdenscheid", "李 明", "می\u200cخواهم", "a.b+c@x.org"):
        assert harmless(name) == name


def test_what_is_printed_holds_no_control_codes():
    text = printable("\x1b]0;title\x07\x1b[31mred\x9b0m\x00\u202e\r\ud800 é\n")
    assert text == "red\ufffd\ufffd\ufffd\ufffd é\n"


# Fuzz

LIMITED = settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
SCRAPS = st.sampled_from(
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
JSON = st.recursive(SCRAPS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
    st.sampled_from(["cells", "metadata", "nbgrader", "grade_id", "source", "cell_type", "id", "attachments",
                     "worksheets", "nbformat", "outputs", "kernelspec", "language", "tags", "input"]),
    inner, max_size=5), max_leaves=25)  # fmt: skip
CELLS = st.lists(
    st.fixed_dictionaries(
        {}, optional={"cell_type": st.sampled_from(["code", "markdown", "raw", 7, None]), "source": JSON,
                      "metadata": JSON, "attachments": JSON, "id": JSON, "outputs": JSON},
    ) | JSON, max_size=5)  # fmt: skip


@LIMITED
@given(st.fixed_dictionaries({"cells": CELLS}, optional={"metadata": JSON}) | JSON)
def test_any_json_is_rebuilt_or_refused(content):
    try:
        rebuilt = rebuild(json.dumps(content).encode(), release_for_marking(lab(LAB)))
    except Unreadable:
        return
    json.dumps(rebuilt.notebook, ensure_ascii=False).encode()


@LIMITED
@given(st.binary(max_size=300))
def test_any_bytes_are_refused_or_read(data):
    for bytes_ in (data, b'{"cells":' + data):
        with suppress(Unreadable):
            read(bytes_)


@LIMITED
@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_none(data):
    stream = io.BytesIO(data)

    def take(count):
        piece = stream.read(count)
        if len(piece) < count:
            raise FrameError("ends")
        return piece

    with pytest.raises(FrameError):
        read_frame(take)


@LIMITED
@given(JSON | st.fixed_dictionaries({"output_type": st.sampled_from(["stream", "error", "display_data"])}, optional={
    "text": JSON, "data": st.dictionaries(st.sampled_from(["text/html", "text/latex", "text/markdown", "image/png",
    "text/plain"]), JSON), "traceback": JSON, "evalue": JSON, "ename": JSON, "name": JSON}))  # fmt: skip
@example({"output_type": "display_data", "data": {"text/latex": "\ud800"}})
def test_any_output_is_cleaned(output):
    cleaned = sanitise.Cleaner()(output if isinstance(output, dict) else {})
    json.dumps(cleaned, ensure_ascii=False).encode()


@LIMITED
@given(st.text(max_size=200))
def test_any_text_can_be_shown(text):
    sanitise.kept_markdown(text)
    assert Page(rendered_by_nbconvert(sanitise.plain_markdown(text))).acts == []
    assert Page(sanitise.render_markdown(text)).acts == []
    assert Page(sanitise.clean_html(text)).acts == []
    sanitise.shown_code(text)
    sanitise.formula(text)
    assert printable(text).replace("\n", "").replace("\t", "").isprintable()


# A class: names that mean something elsewhere, at every door

NAMES = [
    "salt", "secret", "report", "feedback", "gradebook.db", "results", "=1+1", "-rf", "--help", "+1", "@x", "a;=1",
    "<b>x", "<script>window.mischief=1<", "a&b", "a'b", 'a"b', "%s%n", "{student}", "{{7*7}}", "$HOME", "*", "?", "[a]",
    "~", "a\\b", "CON", "nul.txt", "é", "e\u0301", "李", "a b", "'; DROP TABLE student; --", "x" * 200, "#", "a,b", "None",
]  # fmt: skip
REFUSED = ["a\x1b[31m", "\u202eabc", "a\nb", "trailing "]


@pytest.fixture(scope="module")
def classroom(tmp_path_factory):
    folder = tmp_path_factory.mktemp("class")
    for name in [*NAMES, *REFUSED]:
        (folder / "submitted" / name / LAB).mkdir(parents=True)
    (folder / "submitted" / "salt" / LAB / "timestamp.txt").write_text("9" * 40 + "h")
    (folder / "submitted" / "secret" / LAB / "timestamp.txt").write_text("1e99999999")
    # What stands where a result would go is that student's fault alone.
    (folder / "results" / "é" / f"{LAB}.json").mkdir(parents=True)
    return folder


def autograder(*arguments):
    return command.autograder(*arguments, here=True)


@pytest.fixture(scope="module")
def graded(classroom):
    ran = autograder("grade", LAB, "--classroom", classroom, "--json", "-", "--sandbox", "none")
    return ran, [json.loads(line) for line in ran.stdout.splitlines()]


def test_every_name_gets_its_rows_and_nobody_stops_the_run(graded):
    ran, rows = graded
    assert "Traceback" not in ran.stderr
    assert {row["student"] for row in rows} == set(NAMES)
    verdicts = {name: {row["verdict"] for row in rows if row["student"] == name} for name in NAMES}
    assert verdicts.pop("é") == {"fault"}
    assert set(map(frozenset, verdicts.values())) == {frozenset({"missing"})}
    assert ran.returncode == 1  # the refused names, and é, are faults
    assert (
        "\x1b[31m" not in ran.stderr.replace("\x1b[31m\x1b[1mNO SANDBOX", "") and "\u202e" not in ran.stderr
    )


@pytest.mark.long
def test_every_name_gets_a_page_and_a_place_in_the_report(graded, classroom):
    ran = autograder("feedback", "--classroom", classroom)
    assert "Traceback" not in ran.stderr
    pages = {path.parent.parent.name for path in (classroom / "feedback").glob("*/*/*.html")}
    assert pages >= set(NAMES) - {"é"}, ran.stderr
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
    """nh3 raised UnicodeEncodeError."""
    assert sanitise.clean_html("a\ud800b") == "a?b"
    assert "?" in sanitise.render_markdown("a\ud800b")


# A second attack


def test_the_right_code_of_a_second_run_is_in_no_words_that_are_kept():
    """In that run the reference stands in the place of what the student got wrong, and an error could quote it."""
    course_lab = lab("qkv-attention")
    earlier, later = "softmax", "stable_softmax"
    right = course_lab.reference_cells[grade_id(earlier)]
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
    marked = mark(json.dumps(notebook).encode(), course_lab, sandbox_for(course_lab, "none"), salt="x")
    row = next(row for row in marked.rows if row.exercise == later)
    assert row.message.startswith(f"With the right `{earlier}` in place it is still not right. ")
    assert row.misconception == "name-not-defined"
    assert right.split("\n")[-1].strip() not in json.dumps(marked.facts()) + json.dumps(marked.notebook)


def test_numbers_at_the_ends_of_what_a_float_holds_are_coloured():
    """Their distance is infinite: one such answer was a fault, and cost the whole hand-in its mark."""
    ends = np.array([[1.7e308, -1.7e308, 1.0], [np.inf, np.nan, -1.7e308]])
    for wanted in (np.zeros((2, 3)), -ends):
        with np.errstate(all="ignore"):
            page = tables(wanted, ends, 1e-7)
        assert page.count("<table") == 3


def test_a_list_of_thousands_is_compared_at_once():
    """Its parts were counted anew for each form that might explain it: half a minute an exercise."""
    exercise = lab("tiny-transformer").exercises["model_size"]
    questions = exercise.questions() + exercise.questions(1)
    answers = [Answer([0] * 13_000, "list") for _ in questions]
    taken = seconds_of(
        lambda: judge(questions, answers, exercise.rules, exercise.misconceptions, exercise.name, 0)
    )
    assert taken < 3


def test_names_are_text_in_the_formgrader():
    """Its templates escape nothing, and a student chooses the name that a roster gives them."""
    evil = {"student": "<b>", "first_name": "<img src=x onerror=window.mischief=1>", "last_name": '"><svg>'}
    page = formgrader.Offline().preprocess(nbformat.v4.new_notebook(), {**evil, "index": 1})[1]
    assert page["index"] == 1
    assert not any("<" in page[name] or '"' in page[name] for name in evil)
    handlers = pytest.importorskip("nbgrader.server_extensions.formgrader.handlers")
    formgrader.Offline()
    said = {}

    class Environment:
        def get_template(self, name):
            return self

        def render(self, **given):
            said.update(given)
            return ""

    handler = handlers.BaseHandler.__new__(handlers.BaseHandler)
    handler.application = type("A", (), {"settings": {"nbgrader_jinja2_env": Environment()}})()
    with suppress(AttributeError):
        handlers.BaseHandler.render(
            handler, "x.tpl", student_id="<i>", resources={"filename": "<u>", "index": 2}
        )
    assert formgrader._as_text({"filename": "<u>", "index": 2}) == {"filename": "&lt;u&gt;", "index": 2}
    assert handlers.BaseHandler.escapes_names
    assert said.get("student_id", "&lt;i&gt;") == "&lt;i&gt;"


def test_pseudonyms_are_a_table_without_formulas_too(tmp_path):
    """A program that splits at the semicolon worked out "a;=1+1"."""
    students = ["a;=1+1", 'b;"=2', "=3", "ada", "'=3"]
    first = pseudonyms(students, tmp_path)
    assert pseudonyms(reversed(students), tmp_path) == first and len(set(first.values())) == len(students)
    text = (tmp_path / "pseudonyms.csv").read_text()
    for delimiter in ",;\t":
        for row in csv.reader(io.StringIO(text), delimiter=delimiter):
            assert not any(cell.strip(' "')[:1] in tuple("=+-@") for cell in row)


def test_a_line_of_a_result_is_one_line_in_the_terminal(graded, classroom):
    """The name of an exception could hold lines that look like a fine mark."""
    path = classroom / "results" / "salt" / f"{LAB}.json"
    kept = json.loads(path.read_text())
    kept["rows"][0] |= {"message": "E\n  ✓ all   2 of 2  pass\n  In all 100 of 100", "verdict": "error"}
    before = path.read_text()
    path.write_text(json.dumps(kept))
    try:
        ran = autograder("show", "salt", "--classroom", classroom)
    finally:
        path.write_text(before)
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
        granted(text, datetime(2026, 1, 1, tzinfo=ZoneInfo("UTC")), ZoneInfo("UTC"))


def test_a_link_in_place_of_a_labs_folder_leads_nowhere(tmp_path):
    """The time stamp of what it led to was renamed, and another student's secret copied."""
    other, place = tmp_path / "submitted" / "ada" / LAB, Classroom(tmp_path, COURSE)
    other.mkdir(parents=True)
    (other / "timestamp.txt").write_text("never")
    (other / "submission_secret.txt").write_text("secret")
    (tmp_path / "submitted" / "mallory").mkdir()
    (tmp_path / "submitted" / "mallory" / LAB).symlink_to(other)
    assert not put_aside_time(tmp_path / "submitted" / "mallory" / LAB)
    assert (other / "timestamp.txt").exists()
    assert place.secret("mallory", LAB) is None and place.secret("ada", LAB) == "secret"
    assert place.submission("mallory", LAB).timestamp is None


def test_a_link_in_place_of_a_students_folder_leads_nowhere(tmp_path):
    """In the middle of a run, and on nbgrader's road, it had the other's file and points."""
    other, place = tmp_path / "submitted" / "ada" / LAB, Classroom(tmp_path, COURSE)
    other.mkdir(parents=True)
    (other / f"{LAB}.ipynb").write_bytes(b"{}")
    (other / "timestamp.txt").write_text("never")
    (other / "submission_secret.txt").write_text("secret")
    (tmp_path / "submitted" / "mallory").symlink_to(other.parent)
    assert place.submission("mallory", LAB).data is None and place.submission("ada", LAB).data == b"{}"
    assert place.secret("mallory", LAB) is None
    assert not put_aside_time(tmp_path / "submitted" / "mallory" / LAB)
    assert (other / "timestamp.txt").exists()


@pytest.mark.parametrize(
    ("top", "deep"), [("results", 1), ("autograded", 1), ("autograded", 2), ("feedback", 1), ("feedback", 2)]
)
def test_a_link_in_place_of_a_folder_of_ours_leads_nowhere(tmp_path, top, deep):
    """What was written for one went into another's folder, and what was read came from there."""
    place = Classroom(tmp_path, COURSE)
    paths = {"results": place.result_path, "autograded": place.notebook_path, "feedback": place.page_path}
    write(paths[top]("ada", LAB), "ada's")
    link = tmp_path / top / "mallory" / (LAB if deep == 2 else "")
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(tmp_path / top / "ada" / (LAB if deep == 2 else ""))
    files = place.files_in(tmp_path / top, "*/*" if top == "results" else "*/*/*")
    assert [path.read_text() for path in files] == ["ada's"]
    assert not paths[top]("mallory", LAB).exists()
    write(paths[top]("mallory", LAB), "mallory's")
    assert paths[top]("ada", LAB).read_text() == "ada's" and not link.is_symlink()
    assert (
        (link.with_name(f"{link.name}.was-a-link")).read_text().strip().endswith("ada" if deep == 1 else LAB)
    )


def test_a_link_in_place_of_a_result_is_no_result(tmp_path):
    place = Classroom(tmp_path, COURSE)
    write(place.result_path("ada", LAB), "ada's")
    (tmp_path / "results" / "mallory").mkdir()
    (tmp_path / "results" / "mallory" / f"{LAB}.json").symlink_to(place.result_path("ada", LAB))
    assert [path.parent.name for path in place.files_in(place.results, "*/*.json")] == ["ada"]
    assert not place.result_path("mallory", LAB).exists() and place.result_path("ada", LAB).exists()


def test_a_folder_of_results_on_another_disk_is_the_instructors(tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "results").symlink_to(tmp_path / "disk")
    place = Classroom(tmp_path, COURSE)
    write(place.result_path("ada", LAB), "ada's")
    assert len(place.files_in(place.results, "*/*.json")) == 1 and (tmp_path / "disk" / "ada").is_dir()


def test_links_beside_a_notebook_are_put_aside_before_nbgrader_copies_what_they_lead_to(tmp_path):
    from autograder.grading.nbgrader.judge_step import put_aside_time as hook

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
    """A page of 50,000 of them kept the formgrader, which is one process, for three seconds each time."""
    from autograder.grading.marking.sanitise import MAX_CODE, cut_source, shown_code, weight

    for kept in (shown_code(text), cut_source(text, MAX_CODE)):
        assert len(kept.splitlines()) < 4_000 and "lines more are not shown here" in kept
    assert weight(shown_code(text)) < 1.1 * MAX_CODE


def test_a_forged_frame_is_named_to_the_instructor_and_told_calmly_to_the_student():
    from autograder.grading.marking.mark import _ended
    from autograder.grading.sandbox import CellRun
    from autograder.results import Outcome, Verdict

    exercise = next(iter(lab(LAB).exercises.values()))
    found = _ended(exercise, CellRun(status=Outcome.CRASH, answers=[], forged=True), CellRun())
    assert found.verdict is Verdict.CRASH
    assert (
        found.message
        == f"`{exercise.name}` could not be asked: this notebook writes where only its answers may go."
    )


@pytest.mark.long
def test_honest_hand_ins_are_the_same_beside_the_hostile(tmp_path):
    """Marks and pages, to the byte; the seconds are in what `python tests/hostile_class.py` prints."""
    seen = beside(tmp_path, lab(LAB), honest=4)
    assert len(seen[False]) == 4 and len(seen[True]) >= 24
    for student, (marks, page, _) in seen[False].items():
        assert seen[True][student][:2] == (marks, page)


@pytest.mark.skipif(os.name != "posix", reason="nbgrader's exchange is for one machine of several accounts")
def test_one_hand_in_in_the_exchange_keeps_nobody_elses_out(tmp_path, caplog):
    """A dangling link ended `nbgrader collect` for all who came after, and a folder's name was believed."""
    from nbgrader.coursedir import CourseDirectory

    from autograder.grading.nbgrader import exchange

    collect = exchange.Collect(coursedir=CourseDirectory(), check_owner=False)
    collect.inbound_path = str(tmp_path)

    def inbound(student, hour="10"):
        folder = tmp_path / f"{student}+{LAB}+2026-11-20 {hour}:00:00 UTC+x"
        folder.mkdir()
        (folder / f"{LAB}.ipynb").write_bytes(b"{}")
        return folder

    def copied(folder):
        target = tmp_path / "to" / folder.name
        collect.do_copy(str(folder), str(target))
        return sorted(p.name for p in target.rglob("*")) if target.exists() else None

    dangling, outside, pipe, large, linked = map(inbound, ("dangling", "outside", "pipe", "large", "linked"))
    (dangling / "x").symlink_to("/nowhere")
    (outside / "passwd").symlink_to("/etc/passwd")
    (outside / "etc").symlink_to("/etc")
    os.mkfifo(pipe / "p")
    with open(large / "data", "wb") as file:
        file.truncate(exchange.MAX_BYTES + 1)
    for folder in (dangling, outside, pipe):
        assert copied(folder) == [f"{LAB}.ipynb"]
    assert copied(large) is None
    (tmp_path / "link+x+y").symlink_to(linked)
    assert copied(tmp_path / "link+x+y") is None
    collect.check_owner = True
    assert copied(inbound("somebody-else")) is None
    mine = exchange.pwd.getpwuid(os.getuid()).pw_name
    records = [
        {"filename": folder.name, "timestamp": hour}
        for hour, folder in (
            (10, inbound(mine, "10")),
            (12, inbound(f"{mine}x", "12")),
            (11, inbound(mine, "11")),
        )
    ]
    assert [r["timestamp"] for r in collect._sort_by_timestamp(records)] == [11, 10, 12]
