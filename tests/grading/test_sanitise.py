"""Tests that nothing a student's code printed acts in a page that others open."""

import base64
import re
import struct
import time
import unicodedata

import pytest
from hostile_class import PIXEL as PNG

from autograder.grading import sanitise
from autograder.grading.sanitise import (
    OutputCleaner,
    clean_html,
    clean_output,
    is_picture,
    render_markdown,
    simplify_slow_markdown,
)

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<a href='javascript:alert(1)'>x</a>",
    "<a href=' javascript:alert(1)'>x</a>",
    "<iframe src='https://example.org'></iframe>",
    "<form action='https://example.org'><input></form>",
    "<svg onload=alert(1)></svg>",
    "<style>@import 'https://example.org'</style>",
    "<div style='background-image:url(https://example.org/x)'>x</div>",
    "<img src='https://example.org/pixel.png'>",
    "<meta http-equiv=refresh content=0>",
    "<object data='x'></object>",
    "<math><mtext><script>alert(1)</script></mtext></math>",
    f"<img src='data:image/png;base64,{PNG}\" onerror=alert(1)'>",
    "<base href='https://example.org'>",
]
# Unicode's classes of characters that change the direction of the text after them.
BIDIRECTIONAL_CONTROLS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
BAD = (
    "<script",
    "onerror",
    "onload",
    "javascript:",
    "<iframe",
    "<form",
    "<svg",
    "<style",
    "url(",
    "<meta",
)
BAD = (*BAD, "<object", "pixel.png", "<base")


@pytest.mark.parametrize("html", HOSTILE)
def test_hostile_html_is_disarmed(html):
    clean = clean_html(html).lower()
    assert not any(bad in clean for bad in BAD), clean


def test_our_own_html_survives():
    html = (
        '<div style="border-left:4px solid #b35900;padding:.2em .9em"><p><strong>In the case</strong> x</p>'
        f'<img alt="three tables" style="max-width:100%;height:auto" src="data:image/png;base64,{PNG}"></div>'
    )
    clean = clean_html(html, keep_styles=True)
    assert f"data:image/png;base64,{PNG}" in clean
    assert 'alt="three tables"' in clean
    assert "border-left" in clean
    assert "style" not in clean_html(html)


@pytest.mark.parametrize(
    "text",
    [*HOSTILE, "[x](javascript:alert(1))", "$\\href{javascript:alert(1)}{x}$"],
)
def test_hostile_markdown_is_kept_as_it_was_typed_and_rendered_harmless(text):
    assert simplify_slow_markdown(text) == text
    page = render_markdown(text).lower()
    assert not any(bad in page for bad in BAD if bad != "javascript:"), page
    assert not re.search(r"(href|src)\s*=\s*.?\s*javascript", page)


def test_a_busy_machine_makes_no_honest_text_plain(monkeypatch):
    """Regression: 4 of 194 texts became plain where nineteen processes shared two cores."""
    monkeypatch.setattr(sanitise, "MAX_RENDER_SECONDS", 0.1)
    monkeypatch.setattr(sanitise, "render_markdown", lambda *_: time.sleep(0.2))
    assert simplify_slow_markdown("It is *so*.") == "It is *so*."


def test_mathematics_in_markdown_survives():
    text = "If $a < b$ and $\\alpha_{ij} = 1$ then **so**."
    assert simplify_slow_markdown(text) == text
    page = render_markdown(text)
    assert page.count("<math") == 2 and "<strong>so</strong>" in page


def test_outputs_are_rebuilt_from_what_is_safe():
    output = {
        "output_type": "display_data",
        "metadata": {"image/png": {"alt": '"><script>'}},
        "data": {
            "text/plain": "plain <b>",
            "text/html": "<b>x</b><script>y</script>",
            "application/javascript": "alert(1)",
            "image/svg+xml": "<svg onload=alert(1)>",
            "image/png": 'AAAA" onerror="alert(1)',
            "text/latex": "<script>x</script>",
        },
    }
    clean = clean_output(output)
    assert clean.metadata == {}
    assert clean.data == {
        "text/plain": "plain <b>",
        "text/html": "<b>x</b>",
    }


@pytest.mark.parametrize(
    "output",
    [{}, {"output_type": "display_data", "data": 7}, {"output_type": "x"}],
)
def test_nonsense_becomes_a_line_of_text(output):
    assert "text/plain" in clean_output(output).data


def test_markup_that_would_take_for_ever_is_not_parsed():
    clean = OutputCleaner(html_characters=1_000).clean_within_limits
    for html in (
        "<div>" * 100_000,
        "<p " + " ".join(f"a{i}" for i in range(50_000)) + ">",
        "<b>x" * 200,
    ):
        output = {"output_type": "display_data", "data": {"text/html": html}}
        assert (
            clean(output).data == {"text/html": "<p>(an output too large to be shown)</p>"}
            or len(html) < 1_000
        )
    fine = OutputCleaner().clean_within_limits(
        {
            "output_type": "display_data",
            "data": {"text/html": f"<img src='data:image/png;base64,{PNG}{'A' * 200_000}'>"},
        }
    )
    assert len(fine.data["text/html"]) > 200_000


@pytest.mark.parametrize(
    "markup",
    ["<a href='https://x.org' style='{}'>x</a>", "<span style='{}'>x</span>"],
)
def test_no_style_of_a_students_lays_a_link_over_what_stands_around_it(markup):
    """Regression: a styled link covered the formgrader's own buttons."""
    assert "style" not in clean_html(markup.format("padding:3000px"))
    output = {"output_type": "display_data", "data": {"text/html": markup.format("margin:-500px")}}
    assert "style" not in clean_output(output).data["text/html"]


def make_png(width, height):
    return base64.b64encode(
        base64.b64decode(PNG)[:16] + struct.pack(">II", width, height) + b"\x08\0" * 20
    ).decode()


def make_jpeg(width, height, preamble=b"", marker=b"\xff\xc0"):
    frame = marker + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\1\x11\0"
    return base64.b64encode(b"\xff\xd8" + preamble + frame + b"\xff\xd9").decode()


@pytest.mark.parametrize("marker", [b"\xff\xc4", b"\xff\xc8", b"\xff\xcc", b"\xff\xdb"])
def test_the_size_of_a_jpeg_is_that_of_its_frame_and_not_of_a_table_before_it(marker):
    table = marker + struct.pack(">HBHH", 9, 0, 60_000, 60_000) + b"\0\0"
    assert is_picture("image/jpeg", make_jpeg(40, 30, table))
    assert not is_picture("image/jpeg", make_jpeg(60_000, 60_000, table))


@pytest.mark.parametrize("marker", [b"\xff\xc0", b"\xff\xc2", b"\xff\xcf"])
def test_a_jpeg_of_any_coding_is_a_picture(marker):
    """0xFFC2 begins the frame of a progressive JPEG."""
    assert is_picture("image/jpeg", make_jpeg(40, 30, marker=marker))
    assert not is_picture("image/jpeg", make_jpeg(60_000, 60_000, marker=marker))


@pytest.mark.parametrize("size", [10, 100_000])
def test_the_first_output_beyond_the_limit_is_replaced_by_a_remark(size, monkeypatch):
    """Regression: an output that was far too large left no remark at all."""
    monkeypatch.setattr(sanitise, "MAX_OUTPUT_CHARACTERS", 130)
    clean = OutputCleaner().clean_within_limits
    shown = []
    for text in ("a" * 80, "b" * size, "c", ""):
        shown.append(clean({"output_type": "stream", "name": "stdout", "text": text}))
    assert [output.text for output in shown] == [
        "a" * 80,
        "(more output than can be kept)",
        *("", ""),
    ]
    assert [output.name for output in shown] == ["stdout", *["stderr"] * 3]


def test_a_picture_is_of_a_size_that_a_browser_has_room_for():
    """A few kilobytes can declare a picture of 60,000 by 60,000 pixels."""
    exif = b"\xff\xe1" + struct.pack(">H", 2000) + b"x" * 1998
    assert is_picture("image/png", PNG) and is_picture("image/png", make_png(4000, 3000))
    assert is_picture(
        "image/jpeg",
        make_jpeg(4000, 3000),
    ) and is_picture("image/jpeg", make_jpeg(4000, 3000, exif))
    for mime, data in (
        ("image/png", make_png(60_000, 60_000)),
        ("image/png", make_png(0, 5)),
        ("image/png", PNG[:24]),
        ("image/jpeg", make_jpeg(60_000, 60_000)),
        ("image/jpeg", make_jpeg(60_000, 60_000, exif)),
        ("image/jpeg", "/9j/" + "A" * 400),
        ("image/jpeg", PNG),
    ):
        assert not is_picture(mime, data)


@pytest.mark.parametrize(
    ("source", "is_coloured"),
    [
        ("a = 1\n" + "x" * sanitise.MAX_LINE_CHARACTERS, True),
        ("a = 1\n" + "x" * (sanitise.MAX_LINE_CHARACTERS + 1), False),
        ('"""' * 60 + "a = 1\n" * 400, True),
        ('"""' * 61 + "a = 1\n" * 400, False),
        ("%%html\n" + "a = 1\n" * 100, True),
        ("%%html\n" + "a = 1\n" * 200, False),
    ],
)
def test_code_that_is_slow_to_colour_is_shown_as_a_comment(source, is_coloured):
    shown = sanitise.shorten_slow_code(source)
    assert (shown == source) == is_coloured
    assert shown.startswith("# (The grader shows this cell as a comment") == (not is_coloured)
    assert max(map(len, shown.splitlines())) <= sanitise.MAX_LINE_CHARACTERS + len("# ")


def test_a_cell_that_is_shown_as_a_comment_keeps_its_blank_lines():
    long_line = "x" * (sanitise.MAX_LINE_CHARACTERS + 1)
    shown = sanitise.shorten_slow_code(f"a = 1\n\n{long_line}\n")
    assert [line.rstrip() for line in shown.splitlines()[-4:]] == [
        "# a = 1",
        "#",
        f"# {long_line[:-1]}",
        "# x",
    ]


def test_of_too_many_pasted_pictures_the_first_ones_are_kept():
    names = [f"{number}.png" for number in range(sanitise.MAX_PICTURES + 2)]
    attachments = {name: {"image/png": PNG} for name in names}
    kept = sanitise.extract_pictures({"attachments": attachments})
    assert list(kept) == names[: sanitise.MAX_PICTURES]
    # What is no picture takes the place of none.
    attachments = {"x.png": {"image/png": "no picture"}, **attachments}
    assert sanitise.extract_pictures({"attachments": attachments}) == kept


def test_a_pasted_picture_may_have_a_name_up_to_a_length():
    longest = "n" * sanitise.MAX_PICTURE_NAME_CHARACTERS
    attachments = {name: {"image/png": PNG} for name in (longest, f"{longest}n")}
    assert list(sanitise.extract_pictures({"attachments": attachments})) == [longest]


def test_control_characters_and_those_of_direction_are_replaced():
    """Unicode's own lists say which they are; a tab and the ends of lines stay."""
    replaced = set()
    for code in range(0x11000):
        character = chr(code)
        if unicodedata.category(character) in ("Cc", "Cs"):
            replaced.add(character)
        if unicodedata.bidirectional(character) in BIDIRECTIONAL_CONTROLS:
            replaced.add(character)
    replaced = replaced - {*"\t\n\r"} | {"\ufeff"}
    for code in range(0x11000):
        character = chr(code)
        shown = sanitise.replace_control_characters(f"a{character}b")
        expected = character
        if character in replaced:
            expected = "\N{REPLACEMENT CHARACTER}"
        assert shown == f"a{expected}b", hex(code)


TOO_LARGE = "<p>(an output too large to be shown)</p>"


def clean_html_outputs(*markups):
    """Return the HTML that a notebook shows of its outputs of HTML."""
    clean = OutputCleaner().clean_within_limits
    shown = []
    for markup in markups:
        output = {"output_type": "display_data", "data": {"text/html": markup}}
        shown.append(clean(output).data["text/html"])
    return shown


@pytest.mark.parametrize(("limit", "part"), [("MAX_HTML_CHARACTERS", "a"), ("MAX_TAGS", "<br>")])
def test_the_html_of_an_output_is_shown_up_to_a_size_and_a_number_of_tags(limit, part):
    largest = part * getattr(sanitise, limit)
    assert clean_html_outputs(largest, largest + part) == [largest, TOO_LARGE]


def test_the_html_of_all_outputs_is_shown_up_to_a_size():
    full, rest = divmod(sanitise.MAX_TOTAL_HTML_CHARACTERS, sanitise.MAX_HTML_CHARACTERS)
    markups = ["a" * sanitise.MAX_HTML_CHARACTERS] * full + ["a" * rest]
    assert clean_html_outputs(*markups, "") == [*markups, ""]
    assert clean_html_outputs(*markups, "a") == [*markups, TOO_LARGE]


def test_markdown_with_too_many_tags_is_shown_as_it_was_typed(monkeypatch):
    monkeypatch.setattr(sanitise, "MAX_TAGS", 2)  # as a page, four times that many
    assert render_markdown("*a* *b* *c*").count("<") == 8
    assert render_markdown("*a* *b* *c* *d*") == "<pre>*a* *b* *c* *d*</pre>"


def test_of_a_long_text_the_beginning_is_shown(monkeypatch):
    monkeypatch.setattr(sanitise, "MAX_TEXT_CHARACTERS", 3)
    assert sanitise.clean_text("abc") == "abc"
    assert sanitise.clean_text("abcd") == "abc\n[… 1 characters more are not shown here]"


def test_a_formula_is_rendered_up_to_a_length(monkeypatch):
    monkeypatch.setattr(sanitise, "MAX_FORMULA_CHARACTERS", 5)
    assert sanitise.render_formula("x+y+z").startswith("<math")
    assert sanitise.render_formula("x+y+zz").startswith("<code>x+y+z\n[… 1 characters more")


def test_an_error_s_name_is_cut_to_a_length():
    longest = "N" * sanitise.MAX_ERROR_NAME_CHARACTERS
    for name in (longest, f"{longest}N"):
        assert clean_output({"output_type": "error", "ename": name}).ename == longest


def test_a_picture_has_up_to_so_many_pixels_and_characters(monkeypatch):
    most = sanitise.MAX_PICTURE_PIXELS
    for mime, make_picture, factors in (
        ("image/png", make_png, (most, 1)),
        ("image/jpeg", make_jpeg, (8_000, most // 8_000)),
    ):
        width, height = factors
        assert is_picture(mime, make_picture(width, height))
        assert not is_picture(mime, make_picture(width + 1, height))
    monkeypatch.setattr(sanitise, "MAX_PICTURE_CHARACTERS", len(PNG))
    assert is_picture("image/png", PNG)
    monkeypatch.setattr(sanitise, "MAX_PICTURE_CHARACTERS", len(PNG) - 1)
    assert not is_picture("image/png", PNG)


def test_the_code_of_a_cell_is_coloured_up_to_a_size():
    source = ("a" * 99 + "\n") * (sanitise.MAX_CELL_COLOURED_CHARACTERS // 100)
    assert len(source) == sanitise.MAX_CELL_COLOURED_CHARACTERS
    assert sanitise.shorten_slow_code(source) == source
    assert sanitise.shorten_slow_code(f"{source}a").startswith("# (The grader shows this cell as")


@pytest.mark.parametrize(
    ("address", "is_safe"),
    [
        ("http://a.b", True),
        ("HTTPS://a.b", True),
        (" \x00mailto:a@b", True),
        ("ht\ntps://a.b", True),
        ("#top", True),
        ("javascript:x", False),
        ("java\tscript:x", False),
        ("/api", False),
        ("//a.b", False),
        ("a#top", False),
        ("!#top", False),
        ("data:text/html,x", False),
        ("", False),
    ],
)
def test_a_page_links_to_the_web_to_mail_and_within_itself(address, is_safe):
    assert sanitise.is_safe_link(address) is is_safe


def test_the_size_of_a_png_is_that_of_its_header():
    head = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + bytes([0, 0, 0, 3, 0, 0, 0, 2])
    assert sanitise._png_size(head) == (3, 2)
    assert sanitise._png_size(head[:-1]) == sanitise._png_size(b"") == (0, 0)
    assert sanitise._png_size(head.replace(b"IHDR", b"iTXt")) == (0, 0)


def test_a_text_as_it_was_typed_is_a_block_of_code_without_formulas(monkeypatch):
    monkeypatch.setattr(sanitise, "MAX_LINE_CHARACTERS", 4)
    monkeypatch.setattr(sanitise, "MAX_MARKDOWN_CHARACTERS", 16)
    assert sanitise.make_markdown_code_block("a\\b $x\n\n\tc\x0bd\n<b>") == (
        "The grader shows this text as it was typed:\n\n"
        "    a⧵b \n    ＄x\n    \n     c\n    d\n    <b>"
    )
    block = sanitise.simplify_slow_markdown("x" * 17)
    assert block.startswith("The grader shows") and "    [… 1" in block
    assert sanitise.simplify_slow_markdown("x" * 16) == "x" * 16


@pytest.mark.parametrize(
    ("source", "shown"),
    [
        ("a\nb", "a\nb"),
        ("a\n" * 4, "a\na\n[… 2 lines more are not shown here]"),
        ("a" * 121, "a" * 120 + "\n[… 1 characters more are not shown here]"),
        ("a" * 120, "a" * 120),
        ("", ""),
    ],
)
def test_of_a_long_source_the_first_lines_and_characters_are_shown(source, shown):
    assert sanitise.truncate_source(source, 120) == shown
