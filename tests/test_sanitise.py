"""Nothing a student's code printed may act in a page that others open."""

import pytest

from autograder.grading.sanitise import Cleaner, clean_html, clean_markdown, clean_output

PNG = "iVBORw0KGgo="

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
BAD = ("<script", "onerror", "onload", "javascript:", "<iframe", "<form", "<svg", "<style", "url(", "<meta")
BAD = (*BAD, "<object", "pixel.png", "<base")


@pytest.mark.parametrize("html", HOSTILE)
def test_hostile_html_is_disarmed(html):
    cleaned = clean_html(html).lower()
    assert not any(bad in cleaned for bad in BAD), cleaned


def test_our_own_html_survives():
    html = (
        '<div style="border-left:4px solid #b35900;padding:.2em .9em"><p><strong>In the case</strong> x</p>'
        f'<img alt="three tables" style="max-width:100%;height:auto" src="data:image/png;base64,{PNG}"></div>'
    )
    cleaned = clean_html(html)
    assert f"data:image/png;base64,{PNG}" in cleaned
    assert 'alt="three tables"' in cleaned
    assert "border-left" in cleaned


@pytest.mark.parametrize("text", [*HOSTILE, "[x](javascript:alert(1))", "$\\href{javascript:alert(1)}{x}$"])
def test_hostile_markdown_shows_as_text(text):
    cleaned = clean_markdown(text)
    assert "<" not in cleaned.replace("&lt;", "").replace("< ", "")
    assert "javascript:" not in cleaned
    assert "\\href" not in cleaned


def test_mathematics_in_markdown_survives():
    text = "If $a < b$ and $\\alpha_{ij} = 1$ then **so**."
    assert clean_markdown(text) == text


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
    cleaned = clean_output(output)
    assert cleaned.metadata == {}
    assert cleaned.data == {
        "text/plain": "plain <b>",
        "text/html": "<b>x</b>",
        "text/latex": "&lt;script>x&lt;/script>",
    }


@pytest.mark.parametrize("output", [{}, {"output_type": "display_data", "data": 7}, {"output_type": "x"}])
def test_nonsense_becomes_a_line_of_text(output):
    assert "text/plain" in clean_output(output).data


def test_markup_that_would_take_for_ever_is_not_parsed():
    clean = Cleaner(markup=1_000)
    for html in ("<div>" * 100_000, "<p " + " ".join(f"a{i}" for i in range(50_000)) + ">", "<b>x" * 200):
        output = {"output_type": "display_data", "data": {"text/html": html}}
        assert (
            clean(output).data == {"text/html": "<p>(an output too large to be shown)</p>"}
            or len(html) < 1_000
        )
    fine = Cleaner()(
        {
            "output_type": "display_data",
            "data": {"text/html": f"<img src='data:image/png;base64,{'A' * 200_000}'>"},
        }
    )
    assert len(fine.data["text/html"]) > 200_000
