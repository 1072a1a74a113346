"""Convert students' texts, code and outputs to safe HTML, and render page templates.

Everything from a student is escaped or cleaned, and limited in size. Pages are rendered in worker
processes with limits of time and memory (`grading.worker`). A page that exceeds the limits is
rendered again in a plain form.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from autograder.core.rounding import format_points, round_half_up
from autograder.core.text_format import backticks_to_html, make_encodable
from autograder.grading.sanitise import (
    clean_html,
    extract_pictures,
    is_picture,
    render_formula,
    render_markdown,
    replace_control_characters,
    shorten_slow_code,
    truncate_with_remark,
)

TEMPLATES = Path(__file__).parent / "templates"
MAX_HIGHLIGHTED_CHARACTERS = 20_000  # of code with syntax colours on a page
MAX_MARKDOWN_CHARACTERS = 20_000  # of Markdown that is rendered on a page
MAX_TEXT_CHARACTERS = 30_000  # of one text without colours or Markdown; the rest is left out
MAX_OUTPUT_CHARACTERS = 4_000
# Formula that may be too wide for a phone: one on a line of its own, or a long one inside a text.
_WIDE_FORMULA = re.compile(
    r"""<math(?= display="block"|[^>]{0,80}>(?:(?!</math>).){350})""",
    re.DOTALL,
)


class StudentTextRenderer:
    """Renderer of a student's code and prose as HTML, with limits for the page as a whole.

    Parameters
    ----------
    text_only : bool
        Show code without syntax colours, and Markdown as plain text.
    """

    def __init__(self, text_only: bool = False):
        self._code_characters = self._prose_characters = 0
        if not text_only:
            self._code_characters = MAX_HIGHLIGHTED_CHARACTERS
            self._prose_characters = MAX_MARKDOWN_CHARACTERS

    def render_code(self, source: str) -> Markup:
        """Return code as safe HTML for <pre>, with syntax colours up to the page's limit.

        It has syntax colours unless the page's limit for coloured code is reached.
        """
        self._code_characters -= len(source)
        if self._code_characters < 0 or shorten_slow_code(source) != source:
            return escape(truncate_with_remark(source, MAX_TEXT_CHARACTERS))
        return highlight_python(source)

    def render_prose(self, cell: Mapping[str, Any], source: str) -> Markup:
        """Return Markdown as safe HTML, or as plain text beyond the page's limit for Markdown.

        If the page's limit for Markdown is reached, the source is shown as plain text.

        Parameters
        ----------
        cell : mapping
            The notebook cell, which may contain pasted pictures.
        source : str
            The Markdown.
        """
        self._prose_characters -= len(source)
        if self._prose_characters < 0:
            return Markup("<pre>{}</pre>").format(truncate_with_remark(source, MAX_TEXT_CHARACTERS))
        return Markup(_make_formulas_scrollable(render_markdown(source, extract_pictures(cell))))


def highlight_python(source: str) -> Markup:
    """Return Python code with syntax colours, as HTML for a <pre> element."""
    return Markup(highlight(source, _lexer(), _formatter()).rstrip("\n"))


@cache
def _lexer() -> PythonLexer:
    return PythonLexer(stripnl=False, ensurenl=False)


@cache
def _formatter() -> HtmlFormatter:
    return HtmlFormatter(nowrap=True)


def render_sentences(text: str) -> Markup:
    """Return the autograder's sentences as HTML, with `backticks` turned into code."""
    return Markup(backticks_to_html(str(escape(text))))


def render_output(output: Mapping[str, Any]) -> Markup:
    """Return an output of a student's notebook cell as HTML: its picture, or else its text."""
    data = _get_output_data(output)
    for mime in ("image/png", "image/jpeg"):
        picture = _join_lines(data.get(mime, ""))
        if is_picture(mime, picture):
            image = Markup('<img alt="a picture that this cell drew" src="data:{};base64,{}">')
            return image.format(mime, "".join(picture.split()))
    if output.get("output_type") == "error":
        text = f"{output.get('ename', '')}: {output.get('evalue', '')}"
    else:
        text = _get_output_text(output)
    if not text.strip():
        return Markup("")
    return Markup("<pre>{}</pre>").format(truncate_with_remark(text, MAX_OUTPUT_CHARACTERS))


def render_check_message(output: Mapping[str, Any]) -> Markup:
    """Return the message in a test cell's output, which the autograder wrote, as safe HTML."""
    html = _join_lines(_get_output_data(output).get("text/html", ""))
    if html:
        return Markup(clean_html(html, keep_styles=True))
    text = _get_output_text(output)
    if not text.strip():
        return Markup("")
    return Markup("<p>{}</p>").format(
        render_sentences(truncate_with_remark(text, MAX_OUTPUT_CHARACTERS))
    )


def _get_output_data(output: Mapping[str, Any]) -> Mapping[str, Any]:
    data = output.get("data")
    return data if isinstance(data, dict) else {}


def _get_output_text(output: Mapping[str, Any]) -> str:
    return _join_lines(output.get("text") or _get_output_data(output).get("text/plain") or "")


def _join_lines(content: object) -> str:
    """Return a text in a notebook as one string; the file may hold it as a list of lines."""
    return "".join(map(str, content)) if isinstance(content, list) else str(content)


def render_lab_markdown(source: str, attachments: Mapping[str, Any] = {}) -> Markup:
    """Return the course author's Markdown as HTML. It is not safe for Markdown by students.

    Parameters
    ----------
    source : str
        Text of the Markdown cell.
    attachments : mapping
        The cell's pictures, by name and then by MIME type. They become a part of the HTML.
    """
    from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

    class MathMLMarkdownRenderer(IPythonRenderer):
        """Markdown renderer that writes formulas as MathML, and links to files as plain text."""

        def inline_math(self, body: str) -> str:
            return render_formula(body, "inline")

        def block_math(self, body: str) -> str:
            return render_formula(body, "block")

        def link(self, text: str, url: str, title: str | None = None) -> str:
            """Return a link if it leads to a web address or within the page; else only its text."""
            if url.startswith(("#", "https://")):
                return super().link(text, url, title)
            return text

        def image(self, text: str, url: str, title: str | None = None) -> str:
            """Return a picture; if the cell lacks it, a remark, since no page may fail for it."""
            name = url.removeprefix("attachment:")
            if url != name and not self.attachments.get(name):
                return f"<em>(a picture that is not here: {escape(text or name)})</em>"
            return super().image(text, url, title)

    renderer = MathMLMarkdownRenderer(
        escape=False, attachments=dict(attachments), exclude_anchor_links=True
    )
    return Markup(_make_formulas_scrollable(MarkdownWithMath(renderer=renderer).render(source)))


def _make_formulas_scrollable(html: str) -> str:
    """Let a keyboard user reach wide formulas, in order to scroll them."""
    return _WIDE_FORMULA.sub('<math tabindex="0"', html)


def render_page(template: str, **context: Any) -> str:
    """Fill in an HTML template of this package; all texts from the context are escaped.

    Control characters from students' texts and names are replaced in the whole page.
    """
    page = _make_template_environment().get_template(template).render(**context).lstrip()
    return replace_control_characters(make_encodable(page))


@cache
def _make_template_environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        percent=_format_percent,
        share=_format_share,
        number=_format_number,
        code=_format_code_name,
        ticks=render_sentences,
        breaks=lambda name: Markup("-<wbr>").join(name.split("-")),
        moment=format_time,
        points=format_points,
        span=format_duration,
        plural=_format_plural,
    )
    return environment


def _format_percent(number: float | None) -> str:
    return "–" if number is None else f"{number:.0f}\N{NO-BREAK SPACE}%"


def _format_share(share: float | None) -> str:
    return "–" if share is None else _format_percent(100 * share)


def _format_number(number: float | None) -> str:
    return "–" if number is None else str(round_half_up(number)).replace("-", "−")


def _format_code_name(name: str) -> Markup:
    """Return a name as code in HTML that a browser may wrap after an underscore."""
    return Markup("<code>{}</code>").format(Markup("_<wbr>").join(name.split("_")))


def _format_plural(count: int, singular: str, plural: str = "") -> str:
    if count == 1:
        return f"{count} {singular}"
    return f"{count} {plural or singular + 's'}"


def format_time(time: datetime) -> str:
    """Return a date and time as the pages show it.

    >>> from datetime import UTC
    >>> format_time(datetime(2026, 1, 2, 18, tzinfo=UTC))
    'Fri 2 January 2026, 18:00 UTC'
    """
    return f"{time:%a} {time.day} {time:%B %Y, %H:%M} {time.tzname()}"


def format_duration(seconds: float) -> str:
    """Return a length of time with units.

    >>> format_duration(0.25), format_duration(75), format_duration(7300), format_duration(200_000)
    ('0.2 s', '1 min 15 s', '2 h 1 min', '2 d 7 h')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, seconds_left = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {seconds_left} s"
    hours, minutes = divmod(minutes, 60)
    if hours < 24:
        return f"{hours} h {minutes} min"
    return f"{hours // 24} d {hours % 24} h"
