"""Making what a student wrote or printed safe, and quick, to show in the formgrader and on feedback pages.

nbconvert puts HTML, LaTeX, SVG and pictures into its pages as they are; here each is cleaned or dropped.
What a link or a picture is, is decided on the rendered text, as a browser would read it. Whatever would take
a renderer long is shown in a plainer form. All of it is our own process's work: see `limited`.
"""

import base64
import binascii
import html
import re
import struct
from collections.abc import Mapping
from time import thread_time
from typing import Any
from xml.etree import ElementTree

import nbformat
import nh3
from nbformat import NotebookNode

from autograder.errors import encodable, without_escapes

MAX_MARKUP = 50_000  # characters of one output's HTML without its pictures
MAX_TAGS = 2_000
MAX_TEXT = 1_000_000  # characters of one text, stream or error
MAX_KEPT = 12_000_000  # of all outputs of a notebook, pictures included
MAX_PROSE = 20_000  # characters of one Markdown text that is rendered
MAX_CODE = 200_000  # characters of one code cell that are kept to be shown
MAX_SHOWN = 600_000  # characters of all cells that are kept to be shown
MAX_COLOURED = 100_000  # characters of a student's code that are coloured; a finished lab has a tenth
MAX_LINE = 500  # characters in a line of code that is coloured
LINE = 60  # characters that a line takes of these, however short: pages are made line by line
MAX_FORMULA = 2_000
MAX_PICTURE = 5_000_000  # characters of base64
MAX_DOTS = 40_000_000  # of one picture: a few kilobytes can say a billion, and a browser makes room for all
SLOW = 0.5  # seconds of CPU to render one text; above, it is shown plain

_PICTURE = re.compile(r"[A-Za-z0-9+/=\s]*")
_BASE64 = re.compile(r";base64,[A-Za-z0-9+/=]+")
_MAGIC = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}
_ATTRIBUTES = {
    **nh3.ALLOWED_ATTRIBUTES,
    "*": {"title", "scope"},
    "img": {"alt", "src", "width", "height"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
}
_STYLES = {
    *("background-color", "border", "border-left", "border-collapse", "color", "font-family", "font-size"),
    *("font-weight", "height", "margin", "max-width", "padding", "text-align", "vertical-align"),
    *("white-space", "width"),
}
_MATHML = set(
    "math mi mn mo ms mtext mspace mrow mfrac msqrt mroot msub msup msubsup munder mover munderover "
    "mmultiscripts mprescripts mtable mtr mtd mstyle mpadded mphantom menclose merror none".split()
)
_MATHML_ATTRIBUTES = set(
    "display displaystyle mathvariant scriptlevel stretchy fence separator form accent accentunder lspace "
    "rspace minsize maxsize largeop movablelimits symmetric linethickness columnalign rowalign columnspacing "
    "rowspacing columnlines rowlines width height depth notation mathsize".split()
)


# Addresses


def is_good_link(address: str) -> bool:
    """Whether a page of ours may link there: to the web or by mail, or to another place of the page.

    >>> [is_good_link(a) for a in ("https://numpy.org", "#top", "java\\tscript:x", "/api/contents")]
    [True, True, False, False]
    """
    address = as_browser_reads(address)
    return address.startswith(("http://", "https://", "mailto:", "#"))


def is_own_picture(address: str) -> bool:
    """Whether this address is a PNG or JPEG that stands in it, as its first bytes tell."""
    kind, _, data = address.partition(";base64,")
    mime = kind.removeprefix("data:")
    return kind.startswith("data:") and is_picture(mime, data)


def is_picture(mime: str, data: object) -> bool:
    """Whether this is a PNG or JPEG in base64, of a size that can be shown."""
    if mime not in _MAGIC or not isinstance(data, str) or len(data) > MAX_PICTURE:
        return False
    if not _PICTURE.fullmatch(data):
        return False
    head = "".join(data[:64].split())[:32] if mime == "image/png" else data
    try:
        begins = base64.b64decode(head)
    except (binascii.Error, ValueError):
        return False
    if not begins.startswith(_MAGIC[mime]):
        return False
    width, height = _size_of_png(begins) if mime == "image/png" else _size_of_jpeg(begins)
    return 0 < width * height <= MAX_DOTS


def _size_of_png(data: bytes) -> tuple[int, int]:
    """Width and height as a PNG's first bytes say; 0 where they do not."""
    return struct.unpack(">II", data[16:24]) if data[12:16] == b"IHDR" and len(data) >= 24 else (0, 0)


def _size_of_jpeg(data: bytes) -> tuple[int, int]:
    """Width and height as a JPEG's frame says; 0 where there is none."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        kind, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if 0xC0 <= kind <= 0xCF and kind not in (0xC4, 0xC8, 0xCC):  # tables, and what is not in use
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return 0, 0


def as_browser_reads(address: str) -> str:
    """An address as a browser understands it: what it passes over taken out, in small letters."""
    return re.sub(r"[\t\n\r]", "", address).strip("".join(map(chr, range(33)))).lower()


# HTML


def clean_html(
    text: str, tags: frozenset[str] = frozenset(), attributes: Mapping = {}, ours: bool = False
) -> str:
    """HTML without scripts, handlers, frames, forms, or addresses that a page would fetch.

    Parameters
    ----------
    ours : bool
        Made by marking: it keeps its styles. A student's could lay a link over what stands around it.

    >>> clean_html("<b onclick='x()'>bold</b><script>x()</script>")
    '<b>bold</b>'
    """
    return nh3.clean(
        encodable(text),  # Rust's text has no lone surrogates
        tags=nh3.ALLOWED_TAGS | {"details", "summary"} | tags,
        attributes={**_ATTRIBUTES, **attributes, "*": _ATTRIBUTES["*"] | ({"style"} if ours else set())},
        attribute_filter=_only_safe,
        filter_style_properties=_STYLES,
        url_schemes={"http", "https", "mailto", "data"},
        link_rel="noopener noreferrer nofollow",
    )


def _only_safe(tag: str, attribute: str, value: str) -> str | None:
    if attribute == "src":
        return value if is_own_picture(value) else None
    if attribute in {"href", "cite"}:
        return value if is_good_link(value) else None
    return value


# Markdown


def kept_markdown(text: str, attachments: Mapping = {}) -> str:
    """Markdown as it was typed, unless a renderer takes long for it: what shows it makes it safe, once.

    >>> kept_markdown("for a < b: <script>x()</script>")
    'for a < b: <script>x()</script>'
    """
    if len(text) > MAX_PROSE:
        return plain_markdown(text)
    render_markdown("")  # what it imports is not the text's doing
    begun = thread_time()
    render_markdown(text, attachments)
    return text if thread_time() - begun < SLOW else plain_markdown(text)


def plain_markdown(text: str) -> str:
    """Text as it was typed, in Markdown that takes a renderer no time; cut if it is very long."""
    lines = _short_lines(cut(text, MAX_PROSE))
    # Indented, so that nothing in it ends the block.
    return "The grader shows this text as it was typed:\n\n" + "\n".join(
        f"    {_inert(line)}" for line in lines
    )


def _inert(line: str) -> str:
    return (
        re.sub(r"\s", " ", line)
        .replace("\\", "\N{REVERSE SOLIDUS OPERATOR}")
        .replace("$", "\N{FULLWIDTH DOLLAR SIGN}")
    )


def _short_lines(text: str) -> list[str]:
    """Its lines, those in parts that are longer than a page can colour."""
    parts = ((line, range(0, max(len(line), 1), MAX_LINE)) for line in text.splitlines())
    return [line[i : i + MAX_LINE] for line, places in parts for i in places]


def cut(text: str, most: int) -> str:
    """At most so many characters, and a word about the rest.

    >>> cut("abcdef", 3)
    'abc\\n[… 3 characters more are not shown here]'
    """
    return (
        text
        if len(text) <= most
        else f"{text[:most]}\n[… {len(text) - most:,} characters more are not shown here]"
    )


def weight(source: str) -> int:
    """The characters of a cell's source, many short lines counted as the work that they make.

    >>> weight("a = 1"), weight("a\\n" * 100)
    (60, 6000)
    """
    return max(len(source), LINE * len(source.splitlines()))


def cut_source(source: str, most: int) -> str:
    """A cell's source up to this weight, and a word about the rest."""
    lines = source.splitlines(keepends=True)
    if left := lines[most // LINE :]:
        source = "".join(lines[: most // LINE]) + f"[… {len(left):,} lines more are not shown here]"
    return cut(source, most)


def pictures_of(cell: Mapping) -> dict[str, dict[str, str]]:
    """The pictures that were pasted into a cell and can be shown; whatever else was attached is left out."""
    attached = cell.get("attachments")
    kept: dict[str, dict[str, str]] = {}
    for name, kinds in (attached if isinstance(attached, dict) else {}).items():
        good = {m: d for m, d in kinds.items() if is_picture(m, d)} if isinstance(kinds, dict) else {}
        if good and isinstance(name, str) and len(name) <= 200 and len(kept) < 20:
            kept[encodable(name)] = good
    return kept


def render_markdown(text: str, attachments: Mapping = {}) -> str:
    """Markdown as HTML that is safe in any page: formulas as MathML, links and pictures checked at the end.

    >>> render_markdown("*a* $x$ [l](javascript&colon;x)").count("javascript")
    0
    """
    from nbconvert.filters.markdown_mistune import MarkdownWithMath

    if len(text) > MAX_PROSE:
        return f"<pre>{html.escape(cut(text, MAX_PROSE))}</pre>"
    try:
        page = MarkdownWithMath(renderer=_renderer(attachments)).render(text)
    except Exception:  # noqa: BLE001 - such as a picture that is not there, or ten thousand nested quotes
        page = ""
    if not page or _BASE64.sub("", page).count("<") > 4 * MAX_TAGS:
        return f"<pre>{html.escape(text)}</pre>"
    return clean_html(page, frozenset(_MATHML), dict.fromkeys(_MATHML, _MATHML_ATTRIBUTES))


def _renderer(attachments: Mapping) -> Any:
    from nbconvert.filters.markdown_mistune import IPythonRenderer

    class Renderer(IPythonRenderer):
        """Formulas as MathML; a picture that is not there as its name; code without colours."""

        def inline_math(self, body: str) -> str:
            return formula(body, "inline")

        def block_math(self, body: str) -> str:
            return formula(body, "block")

        def latex_environment(self, name: str, body: str) -> str:
            return formula(f"\\begin{{{name}}}{body}\\end{{{name}}}", "block")

        def block_code(self, code: str, info: str | None = None) -> str:
            return f"<pre><code>{html.escape(code)}</code></pre>\n"

        def image(self, text: str, url: str, title: str | None = None) -> str:
            name = url.removeprefix("attachment:")
            for mime, data in self.attachments.get(name, {}).items():
                if url != name and is_picture(mime, data):
                    return f'<img src="data:{mime};base64,{data}" alt="{html.escape(text)}">'
            return f"<em>(a picture that is not here: {html.escape(text or name[:100])})</em>"

    return Renderer(escape=False, attachments=dict(attachments), exclude_anchor_links=True)


def formula(body: str, display: str = "inline") -> str:
    """A formula as MathML, which browsers show by themselves; as it was typed if it is none.

    >>> formula("x")[:5], formula(r"\\frac{")
    ('<math', '<code>\\\\frac{</code>')
    """
    from latex2mathml.converter import convert

    try:
        if len(body) > MAX_FORMULA:
            raise ValueError("too long")
        root = ElementTree.fromstring(convert(body, display=display))
        for element in root.iter():
            element.tag = element.tag.rpartition("}")[2]
            if element.tag not in _MATHML:
                raise ValueError("not of MathML")
            element.attrib = {k: v for k, v in element.attrib.items() if k in _MATHML_ATTRIBUTES}
        return ElementTree.tostring(root, encoding="unicode")
    except Exception:  # noqa: BLE001 - students write formulas too
        return f"<code>{html.escape(cut(body, MAX_FORMULA))}</code>"


# Code


def shown_code(source: str, plain: bool = False) -> str:
    """Code as a page can colour it at once: what would take long, or is to be `plain`, becomes a comment.

    >>> shown_code("a = 1")
    'a = 1'
    """
    if not plain and weight(source) <= 5_000 and not _odd(source):
        return source
    kept = cut_source(source, MAX_CODE)
    if not plain and not _odd(source) and weight(source) <= 50_000:
        return kept
    lines = _short_lines(kept)
    return "# (The grader shows this cell as a comment: it is very long, or unlike code.)\n" + "\n".join(
        f"# {line}" for line in lines
    )


def _odd(source: str) -> bool:
    """Whether colouring might take the square of its length: long lines, strings without end, other languages."""
    longest = max(map(len, source.splitlines()), default=0)
    return (
        longest > MAX_LINE
        or (len(source) > 2_000 and source.count('"""') + source.count("'''") > 60)
        or (len(source) > 1_000 and source.lstrip().startswith("%%"))
    )


# Outputs


class Cleaner:
    """Cleans the outputs of one notebook, within a bound on all of them.

    The HTML parser takes time that grows with the square of what it is given, and it runs on our side.

    Parameters
    ----------
    markup : int
        Characters of HTML, pictures apart, in all outputs together.
    plain : bool
        Keep nothing but text: for a notebook whose outputs have taken too long before.
    """

    def __init__(self, markup: int = 400_000, plain: bool = False):
        self._left, self._plain, self._kept = markup, plain, MAX_KEPT

    def __call__(self, output: dict) -> NotebookNode:
        data = output.get("data")
        if isinstance(data, dict):
            data = {k: v for k, v in data.items() if k == "text/plain"} if self._plain else dict(data)
            if "text/html" in data:
                text = _joined(data["text/html"])
                rest = _BASE64.sub("", text)  # pictures are long, but cost little
                self._left -= len(rest)
                if len(rest) > MAX_MARKUP or rest.count("<") > MAX_TAGS or self._left < 0:
                    data["text/html"] = "<p>(an output too large to be shown)</p>"
            output = {**output, "data": data}
        cleaned = clean_output(output)
        self._kept -= size_of(cleaned)
        if self._kept < 0:
            text = "(more output than can be kept)"
            return make_output("stream", name="stderr", text=text if self._kept > -MAX_KEPT / 100 else "")
        return cleaned


def size_of(output: Mapping) -> int:
    """The characters of an output, about."""
    texts = [output.get("text", ""), output.get("evalue", ""), output.get("ename", "")]
    texts += [*output.get("traceback", ()), *output.get("data", {}).values()]
    return 50 + sum(len(text) for text in texts)


def clean_text(text: object) -> str:
    """Text without a terminal's escape sequences and other control characters, and of a bounded length.

    >>> clean_text("\\x1b[31mred\\x1b[0m\\x1b]0;title\\x07 \\x00")
    'red \\ufffd'
    """
    kept = cut(str(text), MAX_TEXT)
    kept = without_escapes(kept)
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", kept)


# Control characters but for the tab, the newline and the carriage return; lone surrogates; marks that turn
# the direction of what follows.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufeff]")


def clean_output(output: dict, ours: bool = False) -> NotebookNode:
    """One nbformat output with only what is safe to show, rebuilt from plain strings; of marking's own, the styles too."""
    kind = output.get("output_type")
    if kind == "stream":
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        return make_output(kind, name=name, text=clean_text(_joined(output.get("text", ""))))
    if kind == "error":
        lines = output.get("traceback")
        traceback = [clean_text(line) for line in (lines if isinstance(lines, list) else ())[:1_000]]
        ename, evalue = clean_text(output.get("ename", "")), clean_text(output.get("evalue", ""))
        return make_output(kind, ename=ename[:200], evalue=evalue[:20_000], traceback=traceback)
    data = output.get("data")
    safe = {}
    for mime, content in (data if isinstance(data, dict) else {}).items():
        text = _joined(content)
        if mime == "text/plain":
            safe[mime] = clean_text(text)
        elif mime == "text/html":
            safe[mime] = clean_html(text, ours=ours)
        elif mime == "text/markdown":
            safe.setdefault("text/html", render_markdown(clean_text(text)))
        elif mime == "text/latex":
            # MathML, so that no page needs MathJax, whose commands can link and style.
            safe.setdefault("text/html", formula(clean_text(text).strip().strip("$")))
        elif is_picture(mime, text):
            safe[mime] = text
    if not safe:
        safe["text/plain"] = "(an output of a kind that is not shown here)"
    return make_output("display_data", metadata={}, data=safe)


def make_output(kind: str, **fields: Any) -> NotebookNode:
    """An nbformat output; nbformat's own maker validates each one, which takes longer than the rest."""
    return nbformat.from_dict({"output_type": kind, **fields})


def _joined(content: Any) -> str:
    return "".join(map(str, content)) if isinstance(content, list) else str(content)
