"""Cleaning of students' text, code and outputs, so that HTML pages show them safely and quickly.

nbconvert copies a notebook's HTML, LaTeX, SVG and pictures into its pages unchanged. Here each of
them is cleaned or dropped. Links and pictures are checked after Markdown has been rendered, as a
browser would see them. Text that a renderer would need long for is shown as plain text. This code
runs in a worker process with limits (see `worker`).
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

from autograder.core.text_format import make_encodable, strip_escapes

MAX_HTML_CHARACTERS = 50_000  # of the HTML in one output, without its pictures
MAX_TOTAL_HTML_CHARACTERS = 400_000  # of all outputs of a notebook, without their pictures
MAX_TAGS = 2_000  # HTML tags in one output
MAX_TEXT_CHARACTERS = 1_000_000  # of one text, stream or error
MAX_OUTPUT_CHARACTERS = 12_000_000  # of all outputs of a notebook, with their pictures
MAX_MARKDOWN_CHARACTERS = 20_000  # of one Markdown text that is rendered
MAX_CODE_CHARACTERS = 200_000  # of one code cell; the rest is not shown
MAX_SHOWN_CHARACTERS = 600_000  # of the sources of all cells; the rest is not shown
MAX_COLOURED_CHARACTERS = 100_000  # of code with syntax colours; ten times that of a finished lab
MAX_CELL_COLOURED_CHARACTERS = 50_000  # of code with syntax colours in one cell
MAX_LINE_CHARACTERS = 500  # in a line of code with syntax colours
# Weight of a line of source in characters, even if it is shorter, since a page takes time for each
# line.
LINE_WEIGHT = 60
MAX_FORMULA_CHARACTERS = 2_000
MAX_PICTURE_CHARACTERS = 5_000_000  # of the picture's base64 text
# Maximal size of a picture in pixels. A picture file of a few kilobytes can declare a billion
# pixels, and a browser then allocates memory for all of them.
MAX_PICTURE_PIXELS = 40_000_000
MAX_PICTURES = 20  # pasted into one Markdown cell
MAX_PICTURE_NAME_CHARACTERS = 200
MAX_RENDER_SECONDS = 0.5  # of CPU time for one Markdown text, which is else shown as plain text
MAX_TRACEBACK_LINES = 1_000
MAX_ERROR_NAME_CHARACTERS = 200
MAX_ERROR_CHARACTERS = 20_000

_BASE64_TEXT = re.compile(r"[A-Za-z0-9+/=\s]*")
_BASE64_DATA = re.compile(r";base64,[A-Za-z0-9+/=]+")
_FILE_SIGNATURES = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}
# Characters that are replaced in texts: control characters except tab, newline and carriage
# return; lone surrogates; characters that change the direction of writing; the byte order mark.
_CONTROL_CHARACTERS = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufeff]"
)
_ATTRIBUTES = {
    **nh3.ALLOWED_ATTRIBUTES,
    "*": {"title", "scope"},
    "img": {"alt", "src", "width", "height"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
}
_STYLES = {
    *(
        "background-color",
        "border",
        "border-left",
        "border-collapse",
        "color",
        "font-family",
        "font-size",
    ),
    *("font-weight", "height", "margin", "max-width", "padding", "text-align", "vertical-align"),
    *("white-space", "width"),
}
_MATHML = set(
    "math mi mn mo ms mtext mspace mrow mfrac msqrt mroot msub msup msubsup munder mover "
    "munderover "
    "mmultiscripts mprescripts mtable mtr mtd mstyle mpadded mphantom menclose merror none".split()
)
_MATHML_ATTRIBUTES = set(
    "display displaystyle mathvariant scriptlevel stretchy fence separator form accent "
    "accentunder lspace rspace minsize maxsize largeop movablelimits symmetric linethickness "
    "columnalign rowalign columnspacing "
    "rowspacing columnlines rowlines width height depth notation mathsize".split()
)


# Addresses of links and pictures


def is_safe_link(address: str) -> bool:
    """Return True if a page may link to an address: on the web, by mail, or within the page.

    >>> [is_safe_link(a) for a in ("https://numpy.org", "#top", "java\\tscript:x", "/api/contents")]
    [True, True, False, False]
    """
    address = normalise_address(address)
    return address.startswith(("http://", "https://", "mailto:", "#"))


def is_embedded_picture(address: str) -> bool:
    """Return True if an address is a data URL that contains a PNG or JPEG picture."""
    prefix, _, data = address.partition(";base64,")
    mime = prefix.removeprefix("data:")
    return prefix.startswith("data:") and is_picture(mime, data)


def is_picture(mime: str, data: object) -> bool:
    """Return True if the data is a PNG or JPEG picture in base64, and not too large to show."""
    if (
        mime not in _FILE_SIGNATURES
        or not isinstance(
            data,
            str,
        )
        or len(data) > MAX_PICTURE_CHARACTERS
    ):
        return False
    if not _BASE64_TEXT.fullmatch(data):
        return False
    is_png = mime == "image/png"
    head = "".join(data[:64].split())[:32] if is_png else data
    try:
        content = base64.b64decode(head)
    except (binascii.Error, ValueError):
        return False
    if not content.startswith(_FILE_SIGNATURES[mime]):
        return False
    width, height = _png_size(content) if is_png else _jpeg_size(content)
    return 0 < width * height <= MAX_PICTURE_PIXELS


def _png_size(data: bytes) -> tuple[int, int]:
    """Return width and height in pixels from the header of a PNG; (0, 0) if it has no header."""
    if len(data) < 24 or data[12:16] != b"IHDR":
        return 0, 0
    return struct.unpack(">II", data[16:24])


def _jpeg_size(data: bytes) -> tuple[int, int]:
    """Return width and height in pixels from the frame header of a JPEG; (0, 0) if none."""
    position = 2
    while position + 9 <= len(data) and data[position] == 0xFF:
        marker = data[position + 1]
        length = int.from_bytes(data[position + 2 : position + 4], "big")
        # A JPEG's frame header begins with a marker in this range. Three markers in the range do
        # not begin a frame header: they begin a table, or are unused.
        is_frame = 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC)
        if is_frame:
            height, width = struct.unpack(">HH", data[position + 5 : position + 9])
            return width, height
        position += 2 + length
    return 0, 0


def normalise_address(address: str) -> str:
    """Return an address in lower case, without the characters that browsers ignore in it."""
    return re.sub(r"[\t\n\r]", "", address).strip("".join(map(chr, range(33)))).lower()


# Cleaning of HTML


def clean_html(
    text: str,
    tags: frozenset[str] = frozenset(),
    attributes: Mapping = {},
    keep_styles: bool = False,
) -> str:
    """Return HTML without scripts, event handlers, frames, forms, and files from other addresses.

    Parameters
    ----------
    tags : frozenset of str
        Tags to allow beside the usual ones.
    attributes : mapping of str to set of str
        Attributes to allow in these tags.
    keep_styles : bool
        Allow style attributes. Use this only for HTML that the autograder made: with styles, a
        student could lay a link over other parts of the page.

    >>> clean_html("<b onclick='x()'>bold</b><script>x()</script>")
    '<b>bold</b>'
    """
    common_attributes = _ATTRIBUTES["*"]
    if keep_styles:
        common_attributes = common_attributes | {"style"}
    return nh3.clean(
        make_encodable(text),  # nh3 cannot take a lone surrogate
        tags=nh3.ALLOWED_TAGS | {"details", "summary"} | tags,
        attributes={**_ATTRIBUTES, **attributes, "*": common_attributes},
        attribute_filter=_filter_attribute,
        filter_style_properties=_STYLES,
        url_schemes={"http", "https", "mailto", "data"},
        link_rel="noopener noreferrer nofollow",
    )


def _filter_attribute(tag: str, attribute: str, value: str) -> str | None:
    """Return the value of an HTML attribute; None if the attribute must be dropped."""
    if attribute == "src" and not is_embedded_picture(value):
        return None
    if attribute in {"href", "cite"} and not is_safe_link(value):
        return None
    return value


# Rendering of Markdown


def simplify_slow_markdown(text: str, attachments: Mapping = {}) -> str:
    """Return Markdown unchanged, or as an indented code block if it takes long to render.

    The result may still contain unsafe HTML, which is cleaned when the Markdown is rendered.

    >>> simplify_slow_markdown("for a < b: <script>x()</script>")
    'for a < b: <script>x()</script>'
    """
    if len(text) > MAX_MARKDOWN_CHARACTERS:
        return make_markdown_code_block(text)
    render_markdown("")  # import the renderer now, so that its import time is not measured
    start = thread_time()
    render_markdown(text, attachments)
    return text if thread_time() - start < MAX_RENDER_SECONDS else make_markdown_code_block(text)


def make_markdown_code_block(text: str) -> str:
    """Return the text as an indented code block, which renders quickly whatever it contains.

    The text is cut if it is very long.
    """
    lines = _split_long_lines(truncate_with_remark(text, MAX_MARKDOWN_CHARACTERS))
    # Indent the lines to make a code block: no line of the text can end such a block.
    quoted_lines = [f"    {_replace_formula_characters(line)}" for line in lines]
    return "The grader shows this text as it was typed:\n\n" + "\n".join(quoted_lines)


def _replace_formula_characters(line: str) -> str:
    """Replace the characters with which LaTeX formulas begin (backslash and dollar sign)."""
    return (
        re.sub(r"\s", " ", line)
        .replace("\\", "\N{REVERSE SOLIDUS OPERATOR}")
        .replace("$", "\N{FULLWIDTH DOLLAR SIGN}")
    )


def _split_long_lines(text: str) -> list[str]:
    """Return the lines of a text; split lines that are too long for syntax colouring."""
    parts = []
    for line in text.splitlines():
        for start in range(0, max(len(line), 1), MAX_LINE_CHARACTERS):
            parts.append(line[start : start + MAX_LINE_CHARACTERS])
    return parts


def truncate_with_remark(text: str, max_characters: int) -> str:
    """Shorten a text to `max_characters`, and append a remark on how much was cut.

    >>> truncate_with_remark("abcdef", 3)
    'abc\\n[… 3 characters more are not shown here]'
    """
    if len(text) <= max_characters:
        return text
    missing = len(text) - max_characters
    return f"{text[:max_characters]}\n[… {missing:,} characters more are not shown here]"


def estimate_rendering_cost(source: str) -> int:
    """Estimate how much work a notebook cell's source is for a web page, as a number of characters.

    It is the number of characters, but at least 60 for each line.

    >>> estimate_rendering_cost("a = 1"), estimate_rendering_cost("a\\n" * 100)
    (60, 6000)
    """
    return max(len(source), LINE_WEIGHT * len(source.splitlines()))


def truncate_source(source: str, max_weight: int) -> str:
    """Shorten the source of a notebook cell so that a web page shows it quickly.

    A remark on how much was cut is appended.
    """
    lines = source.splitlines(keepends=True)
    line_count = max_weight // LINE_WEIGHT
    missing_lines = lines[line_count:]
    if missing_lines:
        source = "".join(lines[:line_count])
        source += f"[… {len(missing_lines):,} lines more are not shown here]"
    return truncate_with_remark(source, max_weight)


def extract_pictures(cell: Mapping) -> dict[str, dict[str, str]]:
    """Return the pictures pasted into a notebook cell, by name and then by MIME type.

    Pictures of unknown type, and those that are too large or too many, are left out.
    """
    pictures: dict[str, dict[str, str]] = {}
    attachments = cell.get("attachments")
    if not isinstance(attachments, dict):
        return pictures
    for name, formats in attachments.items():
        if not isinstance(name, str) or len(name) > MAX_PICTURE_NAME_CHARACTERS:
            continue
        if not isinstance(formats, dict) or len(pictures) >= MAX_PICTURES:
            continue
        shown_formats = {mime: data for mime, data in formats.items() if is_picture(mime, data)}
        if shown_formats:
            pictures[make_encodable(name)] = shown_formats
    return pictures


def render_markdown(text: str, attachments: Mapping = {}) -> str:
    """Render a student's Markdown as HTML that is safe in any page, with formulas as MathML.

    >>> render_markdown("*a* $x$ [l](javascript&colon;x)").count("javascript")
    0
    """
    from nbconvert.filters.markdown_mistune import MarkdownWithMath

    if len(text) > MAX_MARKDOWN_CHARACTERS:
        return f"<pre>{html.escape(truncate_with_remark(text, MAX_MARKDOWN_CHARACTERS))}</pre>"
    try:
        page = MarkdownWithMath(renderer=_make_mathml_markdown_renderer(attachments)).render(text)
    except Exception:  # noqa: BLE001 - such as a missing picture, or ten thousand nested quotes
        page = ""
    if not page or _BASE64_DATA.sub("", page).count("<") > 4 * MAX_TAGS:
        return f"<pre>{html.escape(text)}</pre>"
    return clean_html(page, frozenset(_MATHML), dict.fromkeys(_MATHML, _MATHML_ATTRIBUTES))


def _make_mathml_markdown_renderer(attachments: Mapping) -> Any:
    from nbconvert.filters.markdown_mistune import IPythonRenderer

    class MathmlMarkdownRenderer(IPythonRenderer):
        """Markdown renderer that writes formulas as MathML and embeds the pasted pictures."""

        def inline_math(self, body: str) -> str:
            return render_formula(body, "inline")

        def block_math(self, body: str) -> str:
            return render_formula(body, "block")

        def latex_environment(self, name: str, body: str) -> str:
            return render_formula(f"\\begin{{{name}}}{body}\\end{{{name}}}", "block")

        def block_code(self, code: str, info: str | None = None) -> str:
            return f"<pre><code>{html.escape(code)}</code></pre>\n"

        def image(self, text: str, url: str, title: str | None = None) -> str:
            name = url.removeprefix("attachment:")
            for mime, data in self.attachments.get(name, {}).items():
                if url != name and is_picture(mime, data):
                    return f'<img src="data:{mime};base64,{data}" alt="{html.escape(text)}">'
            return f"<em>(a picture that is not here: {html.escape(text or name[:100])})</em>"

    return MathmlMarkdownRenderer(
        escape=False,
        attachments=dict(attachments),
        exclude_anchor_links=True,
    )


def render_formula(body: str, display: str = "inline") -> str:
    """Render a LaTeX formula as MathML, or as code if it is not valid LaTeX.

    >>> render_formula("x")[:5], render_formula(r"\\frac{")
    ('<math', '<code>\\\\frac{</code>')
    """
    from latex2mathml.converter import convert

    try:
        if len(body) > MAX_FORMULA_CHARACTERS:
            raise ValueError("too long")
        root = ElementTree.fromstring(convert(body, display=display))
        for element in root.iter():
            element.tag = element.tag.rpartition("}")[2]
            if element.tag not in _MATHML:
                raise ValueError("not MathML")
            for name in element.attrib.keys() - _MATHML_ATTRIBUTES:
                del element.attrib[name]
        return ElementTree.tostring(root, encoding="unicode")
    except Exception:  # noqa: BLE001 - students write formulas too
        return f"<code>{html.escape(truncate_with_remark(body, MAX_FORMULA_CHARACTERS))}</code>"


# Code of cells, for syntax colouring


def shorten_slow_code(source: str, as_comments: bool = False) -> str:
    """Return a cell's code; if colouring its syntax would be slow, shortened and as comments.

    Code that would take long is cut if necessary, and each of its lines becomes a comment.

    >>> shorten_slow_code("a = 1")
    'a = 1'
    """
    is_slow = as_comments or _is_slow_to_colour(source)
    if not is_slow and estimate_rendering_cost(source) <= 5_000:
        return source
    shown_source = truncate_source(source, MAX_CODE_CHARACTERS)
    if not is_slow and estimate_rendering_cost(source) <= MAX_CELL_COLOURED_CHARACTERS:
        return shown_source
    lines = [f"# {line}" for line in _split_long_lines(shown_source)]
    title = "# (The grader shows this cell as a comment: it is very long, or unlike code.)\n"
    return title + "\n".join(lines)


def _is_slow_to_colour(source: str) -> bool:
    """Return True if syntax colouring might take long, such as for very long lines."""
    longest_line = max(map(len, source.splitlines()), default=0)
    return (
        longest_line > MAX_LINE_CHARACTERS
        or (len(source) > 2_000 and source.count('"""') + source.count("'''") > 60)
        or (len(source) > 1_000 and source.lstrip().startswith("%%"))
    )


# Outputs of cells


class OutputCleaner:
    """Cleaner of the outputs of one notebook, which limits their total size.

    The limits are needed because the HTML parser runs outside the sandbox, and its time grows with
    the square of its input.

    Parameters
    ----------
    html_characters : int
        Maximum number of characters of HTML in all outputs together, without pictures.
    text_only : bool
        Keep only plain text. Use this for a notebook whose outputs took too long to clean.
    """

    def __init__(self, html_characters: int = MAX_TOTAL_HTML_CHARACTERS, text_only: bool = False):
        self._html_budget, self._output_budget = html_characters, MAX_OUTPUT_CHARACTERS
        self._text_only = text_only

    def clean_within_limits(self, output: dict) -> NotebookNode:
        if isinstance(output.get("data"), dict):
            output = {**output, "data": self._drop_too_large_html(output["data"])}
        cleaned_output = clean_output(output)
        is_first = self._output_budget >= 0  # of the outputs beyond the limit, if it is one
        self._output_budget -= measure_output(cleaned_output)
        if self._output_budget >= 0:
            return cleaned_output
        text = "(more output than can be kept)" if is_first else ""
        return make_output("stream", name="stderr", text=text)

    def _drop_too_large_html(self, data: dict) -> dict:
        """Return an output's data by MIME type, with HTML that is too large replaced by a note."""
        if self._text_only:
            return {mime: text for mime, text in data.items() if mime == "text/plain"}
        if "text/html" not in data:
            return dict(data)
        # Leave pictures out of the size of the HTML: their base64 text is long, but a browser
        # parses it quickly.
        markup = _BASE64_DATA.sub("", _join_text(data["text/html"]))
        self._html_budget -= len(markup)
        is_large = len(markup) > MAX_HTML_CHARACTERS or markup.count("<") > MAX_TAGS
        if is_large or self._html_budget < 0:
            return {**data, "text/html": "<p>(an output too large to be shown)</p>"}
        return dict(data)


def measure_output(output: Mapping) -> int:
    """Return the approximate number of characters of an output."""
    texts = [output.get("text", ""), output.get("evalue", ""), output.get("ename", "")]
    texts += [*output.get("traceback", ()), *output.get("data", {}).values()]
    return 50 + sum(len(text) for text in texts)


def clean_text(text: object) -> str:
    """Return the text, shortened if necessary, without escape sequences and control characters.

    >>> clean_text("\\x1b[31mred\\x1b[0m\\x1b]0;title\\x07 \\x00")
    'red \\ufffd'
    """
    short_text = strip_escapes(truncate_with_remark(str(text), MAX_TEXT_CHARACTERS))
    return replace_control_characters(short_text)


def replace_control_characters(text: str) -> str:
    """Replace control characters, and those that change the direction of writing, by U+FFFD."""
    return _CONTROL_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", text)


def clean_output(output: dict, keep_styles: bool = False) -> NotebookNode:
    """Return a notebook cell's output with safe content only.

    Parameters
    ----------
    output : dict
        Output in nbformat's form, which may have fields of any type.
    keep_styles : bool
        Keep style attributes in HTML; only for outputs that the autograder made (`clean_html`).
    """
    output_type = output.get("output_type")
    if output_type == "stream":
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        return make_output(
            output_type,
            name=name,
            text=clean_text(_join_text(output.get("text", ""))),
        )
    if output_type == "error":
        return _clean_and_shorten_error(output)
    data = output.get("data")
    contents = data.items() if isinstance(data, dict) else ()
    safe_data: dict[str, str] = {}
    for mime, content in contents:
        text = _join_text(content)
        if mime == "text/plain":
            safe_data[mime] = clean_text(text)
        elif mime == "text/html":
            safe_data[mime] = clean_html(text, keep_styles=keep_styles)
        elif mime == "text/markdown":
            safe_data.setdefault("text/html", render_markdown(clean_text(text)))
        elif mime == "text/latex":
            # Render formulas as MathML. Otherwise pages would need MathJax, whose commands can make
            # links.
            safe_data.setdefault("text/html", render_formula(clean_text(text).strip().strip("$")))
        elif is_picture(mime, text):
            safe_data[mime] = text
    if not safe_data:
        safe_data["text/plain"] = "(an output of a kind that is not shown here)"
    return make_output("display_data", metadata={}, data=safe_data)


def _clean_and_shorten_error(output: dict) -> NotebookNode:
    lines = output.get("traceback")
    if not isinstance(lines, list):
        lines = []
    return make_output(
        "error",
        ename=clean_text(output.get("ename", ""))[:MAX_ERROR_NAME_CHARACTERS],
        evalue=clean_text(output.get("evalue", ""))[:MAX_ERROR_CHARACTERS],
        traceback=[clean_text(line) for line in lines[:MAX_TRACEBACK_LINES]],
    )


def make_output(output_type: str, **fields: Any) -> NotebookNode:
    """Return a notebook output. It is not validated as by nbformat, since that is slow."""
    return nbformat.from_dict({"output_type": output_type, **fields})


def _join_text(content: Any) -> str:
    return "".join(map(str, content)) if isinstance(content, list) else str(content)
