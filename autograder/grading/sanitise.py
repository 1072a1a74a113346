"""Making what a student's code printed safe to show in the formgrader and on feedback pages.

nbconvert puts HTML, LaTeX, SVG and pictures into its pages as they are; here each is cleaned or dropped.
"""

import re

import nbformat
import nh3
from nbformat import NotebookNode

_PICTURE = re.compile(r"[A-Za-z0-9+/=\s]*")
_BASE64 = re.compile(r";base64,[A-Za-z0-9+/=]+")
MAX_MARKUP = 50_000  # characters of one output's HTML without its pictures
MAX_TAGS = 2_000
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_ATTRIBUTES = {
    **nh3.ALLOWED_ATTRIBUTES,
    "*": {"style", "title", "class", "scope"},
    "img": {"alt", "src", "style", "width", "height"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
}
_STYLES = {
    *("background-color", "border", "border-left", "border-collapse", "color", "font-family", "font-size"),
    *("font-weight", "height", "margin", "max-width", "padding", "text-align", "vertical-align"),
    *("white-space", "width"),
}


def clean_html(html: str) -> str:
    """HTML without scripts, handlers, frames, forms, or addresses that a page would fetch.

    >>> clean_html("<b onclick='x()'>bold</b><script>x()</script>")
    '<b>bold</b>'
    """
    return nh3.clean(
        html,
        tags=nh3.ALLOWED_TAGS | {"details", "summary"},
        attributes=_ATTRIBUTES,
        attribute_filter=_only_own_pictures,
        filter_style_properties=_STYLES,
        url_schemes={"http", "https", "mailto", "data"},
        link_rel="noopener noreferrer nofollow",
    )


def _only_own_pictures(tag: str, attribute: str, value: str) -> str | None:
    if attribute == "src":
        kind, _, data = value.partition(";base64,")
        safe = kind in {"data:image/png", "data:image/jpeg"} and _PICTURE.fullmatch(data)
        return value if safe else None
    if attribute == "href":
        return value if value.startswith(("http://", "https://", "mailto:", "#")) else None
    if attribute == "style":
        return None if "url(" in value.lower() else value
    if attribute == "class":
        return None
    return value


def clean_markdown(text: str) -> str:
    """Markdown (or LaTeX) whose raw HTML shows as text instead of acting.

    >>> clean_markdown("for a < b: <script>x()</script>")
    'for a < b: &lt;script>x()&lt;/script>'
    """
    text = re.sub(r"(?i)\\(href|url|html\w*|class|cssId|style|unicode)\b", r"\\text", text)
    text = re.sub(r"(?i)\b(javascript|vbscript|data)\s*:", r"\1 :", text)
    return _TAG.sub("&lt;", text)


class Cleaner:
    """Cleans the outputs of one notebook, within a bound on the HTML of all of them.

    The HTML parser takes time that grows with the square of what it is given, and it runs on our side.
    """

    def __init__(self, markup: int = 400_000):
        self._left = markup

    def __call__(self, output: dict) -> NotebookNode:
        data = output.get("data")
        if isinstance(data, dict) and "text/html" in data:
            html = _joined(data["text/html"])
            rest = _BASE64.sub("", html)  # pictures are long, but cost little
            self._left -= len(rest)
            if len(rest) > MAX_MARKUP or rest.count("<") > MAX_TAGS or self._left < 0:
                data = {**data, "text/html": "<p>(an output too large to be shown)</p>"}
                output = {**output, "data": data}
        return clean_output(output)


def clean_output(output: dict) -> NotebookNode:
    """One nbformat output with only what is safe to show, rebuilt from plain strings."""
    kind = output.get("output_type")
    if kind == "stream":
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        return make_output(kind, name=name, text=str(output.get("text", "")))
    if kind == "error":
        traceback = [str(line) for line in output.get("traceback", ())]
        ename, evalue = str(output.get("ename", "")), str(output.get("evalue", ""))
        return make_output(kind, ename=ename, evalue=evalue, traceback=traceback)
    data = output.get("data")
    safe = {}
    for mime, content in (data if isinstance(data, dict) else {}).items():
        text = _joined(content)
        if mime == "text/plain":
            safe[mime] = text
        elif mime == "text/html":
            safe[mime] = clean_html(text)
        elif mime in {"text/markdown", "text/latex"}:
            safe[mime] = clean_markdown(text)
        elif mime in {"image/png", "image/jpeg"} and _PICTURE.fullmatch(text):
            safe[mime] = text
    if not safe:
        safe["text/plain"] = "(an output of a kind that is not shown here)"
    return make_output("display_data", metadata={}, data=safe)


def make_output(kind: str, **fields) -> NotebookNode:
    """An nbformat output; nbformat's own maker validates each one, which takes longer than the rest."""
    return nbformat.from_dict({"output_type": kind, **fields})


def _joined(content) -> str:
    return "".join(map(str, content)) if isinstance(content, list) else str(content)
