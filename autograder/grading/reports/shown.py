"""What students wrote, as HTML that only shows: escaped or cleaned, and bounded in size.

It is made in a worker with limits of time and memory (see `limited`); a page that goes over them is made again
in a plain form.
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

from autograder.errors import encodable
from autograder.feedback import code
from autograder.grading.marking.sanitise import (
    clean_html,
    cut,
    formula,
    is_picture,
    pictures_of,
    render_markdown,
    shown_code,
)

TEMPLATES = Path(__file__).parent / "templates"
MAX_COLOURED = 20_000  # characters of a page's code; what comes after them is shown without colours
MAX_PROSE = 20_000  # and of its prose that is rendered
MAX_SHOWN = 30_000  # characters of a text; the rest is left out, and said to be
_WIDE = re.compile(r"""<math(?= display="block"|[^>]{0,80}>(?:(?!</math>).){350})""", re.DOTALL)


class Showing:
    """Shows what one student wrote, within what a page may spend on colours and Markdown."""

    def __init__(self, plain: bool = False):
        self._colours, self._prose = (0, 0) if plain else (MAX_COLOURED, MAX_PROSE)

    def code(self, source: str) -> Markup:
        """Python as the inside of a <pre>, coloured if there is little of it."""
        self._colours -= len(source)
        if self._colours < 0 or shown_code(source) != source:
            return escape(cut(source, MAX_SHOWN))
        return coloured(source)

    def prose(self, cell: Mapping[str, Any], source: str) -> Markup:
        """A written answer with its formulas and lists, or as it was typed."""
        self._prose -= len(source)
        if self._prose < 0:
            return Markup("<pre>{}</pre>").format(cut(source, MAX_SHOWN))
        return Markup(_scrolling(render_markdown(source, pictures_of(cell))))


def coloured(source: str) -> Markup:
    """Python as the inside of a <pre>, coloured; Pygments escapes it."""
    return Markup(highlight(source, _lexer(), _formatter()).rstrip("\n"))


@cache
def _lexer() -> PythonLexer:
    return PythonLexer(stripnl=False, ensurenl=False)


@cache
def _formatter() -> HtmlFormatter:
    return HtmlFormatter(nowrap=True)


def sentences(text: str) -> Markup:
    """Our own sentences, in which `backticks` are code."""
    return Markup(code(str(escape(text))))


def output(one: Mapping[str, Any]) -> Markup:
    """An output of a student's cell: a picture, or its text."""
    data = one.get("data")
    data = data if isinstance(data, dict) else {}
    for mime in ("image/png", "image/jpeg"):
        picture = _joined(data.get(mime, ""))
        if is_picture(mime, picture):
            return Markup('<img alt="a picture that this cell drew" src="data:{};base64,{}">').format(
                mime, "".join(picture.split())
            )
    if one.get("output_type") == "error":
        text = f"{one.get('ename', '')}: {one.get('evalue', '')}"
    else:
        text = _joined(one.get("text") or data.get("text/plain") or "")
    return Markup("<pre>{}</pre>").format(cut(text, 4_000)) if text.strip() else Markup("")


def finding(one: Mapping[str, Any]) -> Markup:
    """What the check found, as marking left it in the notebook: our own HTML, cleaned once more."""
    data = one.get("data")
    data = data if isinstance(data, dict) else {}
    if html := _joined(data.get("text/html", "")):
        return Markup(clean_html(html, ours=True))
    text = _joined(one.get("text") or data.get("text/plain") or "")
    return Markup("<p>{}</p>").format(sentences(cut(text, 4_000))) if text.strip() else Markup("")


def _joined(content: object) -> str:
    return "".join(map(str, content)) if isinstance(content, list) else str(content)


def markdown(source: str) -> Markup:
    """The lab's own Markdown as HTML. Not for what students wrote."""
    from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

    class Renderer(IPythonRenderer):
        """Formulas as MathML."""

        def inline_math(self, body: str) -> str:
            return formula(body, "inline")

        def block_math(self, body: str) -> str:
            return formula(body, "block")

        def link(self, text: str, url: str, title: str | None = None) -> str:
            """What lies beside the notebook does not lie beside a page: its name alone."""
            return super().link(text, url, title) if url.startswith(("#", "https://")) else text

    renderer = Renderer(escape=False, attachments={}, exclude_anchor_links=True)
    return Markup(_scrolling(MarkdownWithMath(renderer=renderer).render(source)))


def _scrolling(html: str) -> str:
    """Formulas that are wider than a phone scroll, and so they can be reached by the keyboard."""
    return _WIDE.sub('<math tabindex="0"', html)


def page(template: str, **what: Any) -> str:
    """A page as HTML, of one of our templates; everything in it that is not ours is escaped."""
    return encodable(_environment().get_template(template).render(**what).lstrip())


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        whole=lambda number: "–" if number is None else f"{number:.0f}\N{NO-BREAK SPACE}%",
        share=lambda number: "–" if number is None else f"{100 * number:.0f}\N{NO-BREAK SPACE}%",
        number=lambda number: "–" if number is None else f"{round(number, 2) + 0.0:.2f}".replace("-", "−"),
        code=lambda name: Markup("<code>{}</code>").format(Markup("_<wbr>").join(name.split("_"))),
        ticks=sentences,
        breaks=lambda name: Markup("-<wbr>").join(name.split("-")),
        moment=moment,
        points=lambda number: f"{number:g}",
        span=span,
        plural=lambda count, one, many=None: f"{count} {one if count == 1 else many or one + 's'}",
    )
    return environment


def moment(when: datetime) -> str:
    """A time as a page tells it.

    >>> from datetime import UTC
    >>> moment(datetime(2026, 1, 2, 18, tzinfo=UTC))
    'Fri 2 January 2026, 18:00 UTC'
    """
    return f"{when:%a} {when.day} {when:%B %Y, %H:%M} {when.tzname()}"


def span(seconds: float) -> str:
    """A length of time in words.

    >>> span(0.25), span(75), span(7300), span(200_000)
    ('0.2 s', '1 min 15 s', '2 h 1 min', '2 d 7 h')
    """
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 24 else f"{hours // 24} d {hours % 24} h"
