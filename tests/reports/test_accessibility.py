"""Accessibility of all pages: screen readers, keyboards and colour vision."""

import re
from html.parser import HTMLParser
from pathlib import Path

import nbformat
import pytest
from graded_class import LAB, enrol, fill, results, with_policy
from our_course import Silent, lab

from autograder.core.notebook_cells import get_grade_id
from autograder.grading.grade_submission import grade_unreadable_submission
from autograder.reports import class_page as pages_of_reports
from autograder.reports.class_page import write_report
from autograder.reports.feedback_pages import write_feedback_pages
from autograder.reports.manual_marks import (
    read_question_marks,
    write_answers_page_and_marking_sheet,
)

pytestmark = pytest.mark.filterwarnings("ignore")

TEMPLATES = Path(pages_of_reports.__file__).parent / "templates"
VOID = {"meta", "br", "wbr", "rect", "line", "circle", "path", "img", "link", "hr", "input"}


class Reader(HTMLParser):
    """Parser that collects the elements of a page with their texts."""

    def __init__(self):
        super().__init__()
        self.open, self.all = [], []

    def handle_starttag(self, tag, attrs):
        element = {
            "tag": tag,
            "attrs": dict(attrs),
            "text": "",
            "above": [e["tag"] for e in self.open],
        }
        self.all.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        self.open.pop()

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def find(self, *tags):
        return [element for element in self.all if element["tag"] in tags]


def faults(html):
    """Return the rules of axe that a page breaks, as far as its markup tells."""
    page = Reader()
    page.feed(html)
    violations = []

    def rule(name, broken):
        violations.extend([name] if broken else [])

    rule("lang", [e["attrs"].get("lang") for e in page.find("html")] != ["en-GB"])
    rule("title", not all(e["text"].strip() for e in page.find("title")) or not page.find("title"))
    (viewport,) = [e for e in page.find("meta") if e["attrs"].get("name") == "viewport"] or [
        {"attrs": {}}
    ]
    rule("zoom", viewport["attrs"].get("content") != "width=device-width, initial-scale=1")
    rule("one main", len(page.find("main")) != 1)
    landmarks = {"main", "header", "footer", "nav", "script"}
    outside = [
        e
        for e in page.all
        if e["above"][:2] == ["html", "body"] and not landmarks & {*e["above"], e["tag"]}
    ]
    rule(
        "landmarks", [e for e in outside if e["text"].strip() and e["attrs"].get("class") != "skip"]
    )
    levels = [
        int(e["tag"][1])
        for e in page.find(*(f"h{n}" for n in range(1, 7)))
        if "details" not in e["above"]
    ]
    rule("one h1", levels.count(1) != 1)
    rule("order of headings", any(b > a + 1 for a, b in zip([0, *levels], levels, strict=False)))
    rule("empty heading", any(not e["text"].strip() for e in page.find("h1", "h2", "h3", "h4")))
    rule("alt", any("alt" not in e["attrs"] for e in page.find("img")))
    rule("link", any(not e["text"].strip() for e in page.find("a")))
    rule("summary", any(not e["text"].strip() for e in page.find("summary")))
    table_headings = [
        e for e in page.find("th") if "svg" not in e["above"] and "details" not in e["above"]
    ]
    rule(
        "table heading",
        any(
            not e["text"].strip() or e["attrs"].get("scope") not in ("col", "row")
            for e in table_headings
        ),
    )
    focusable = [e for e in page.all if "tabindex" in e["attrs"] and e["tag"] != "math"]
    rule(
        "what is focused has a role and a name",
        any(not (e["attrs"].get("role") and accessible_name(e)) for e in focusable),
    )
    rule("tabindex", any(e["attrs"]["tabindex"] != "0" for e in focusable))
    rule(
        "unlabelled",
        any(
            e["attrs"].get("role") in ("region", "img") and not accessible_name(e) for e in page.all
        ),
    )
    rule(
        "field without a label",
        any("label" not in e["above"] for e in page.find("input", "select", "textarea")),
    )
    style = re.sub(
        r"/\*.*?\*/", "", "".join(e["text"] for e in page.find("style")), flags=re.DOTALL
    )
    scrolling = re.findall(r"([^{}]+)\{[^{}]*overflow(?:-x)?: auto[^{}]*\}", style)
    rule(
        "what scrolls and cannot be focused",
        {s.strip() for s in scrolling} - {"math", ".found", ".scroll", ".grid"},
    )
    return violations


def accessible_name(element):
    return element["attrs"].get("aria-label") or element["attrs"].get("aria-labelledby")


@pytest.fixture
def pages(classroom, prepared):
    """One page of each type, by its name."""
    with_policy(classroom, {"penalty_per_day": 0.1})
    enrol(classroom, "Login,First name,Last name\nada,Ada,Lovelace\nbo,Bo,Li\ncy,Cy,Twombly\n")
    wrong = results(
        "bo", ["softmax", "attention_qkv"], message="It is wrong.", answer="Flat, since $x^2$."
    )
    test = next(cell for cell in wrong.notebook.cells if get_grade_id(cell) == "test-softmax")
    message = "<p>found</p><table><caption>yours</caption><tr><td>1</td></tr></table>"
    test.outputs = [nbformat.v4.new_output("display_data", data={"text/html": message})]
    drawing = nbformat.v4.new_code_cell("draw()")
    drawing.outputs = [nbformat.v4.new_output("display_data", data={"image/png": PNG})]
    wrong.notebook.cells.append(drawing)
    broken = grade_unreadable_submission(lab(LAB), "The file is empty.", 3)
    fill(classroom, {"ada": results("ada"), "bo": wrong, "cy": broken}, gradebook=prepared)
    assert not write_feedback_pages(classroom, labs=[lab(LAB)], progress=Silent()).failures
    question = read_question_marks(classroom, lab(LAB), "explain-flat")
    write_answers_page_and_marking_sheet(question, workers=1)
    write_report(classroom)
    report = classroom.report / "index.html"
    paths = {
        name: classroom.page_path(student, LAB)
        for student, name in (("ada", "right"), ("bo", "wrong"), ("cy", "unread"))
    }
    paths |= {"answers": next(question.sheet.parent.glob("*.html")), "report": report}
    paths["student"] = next((report.parent / "students").glob("*.html"))
    return {name: path.read_text("utf-8") for name, path in paths.items()}


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="


def test_every_page_is_accessible(pages):
    assert {name: faults(page) for name, page in pages.items()} == {name: [] for name in pages}
    assert "<img" in pages["wrong"]


BROKEN = [
    ('lang="en-GB"', "", "lang"),
    ("<title>", "<title></title><title>", "title"),
    ("initial-scale=1", "initial-scale=1, user-scalable=no", "zoom"),
    ("<main>", "<main></main><main>", "one main"),
    ("<main>", "<p>lost</p><main>", "landmarks"),
    ("<h1>", "<h1>One</h1><h1>", "one h1"),
    ('<h2 id="answers">Your answers</h2>', "", "order of headings"),
    ("Your answers</h2>", "</h2>", "empty heading"),
    ('alt="a picture that this cell drew"', "", "alt"),
    ("<main>", '<main><a href="#answers"></a>', "link"),
    ("<main>", "<main><table><tr><th></th></tr></table>", "table heading"),
    ("<main>", "<main><table><tr><th>a</th></tr></table>", "table heading"),
    (' role="region"', "", "what is focused has a role and a name"),
    ('tabindex="0">', 'tabindex="3">', "tabindex"),
    ("<main>", '<main><div role="img"></div>', "unlabelled"),
    ("<main>", '<main><input type="search">', "field without a label"),
    ("</style>", "pre { overflow-x: auto; }</style>", "what scrolls and cannot be focused"),
]


@pytest.mark.long
def test_each_accessibility_rule_is_checked(pages):
    page = pages["wrong"]
    for old, new, fault in BROKEN:
        assert old in page
        assert fault in faults(page.replace(old, new)), (old, new)


# Colours


def palettes():
    """Return the colours of the pages by name, for light and for dark."""
    css = (TEMPLATES / "_page.css").read_text()
    screen = css[: css.index("@media print")]
    light, dark = re.findall(r":root \{(.*?)\}", screen, re.DOTALL)
    return [dict(re.findall(r"--(\w+): (#\w+);", text)) for text in (light, dark)]


def contrast(colour_1, colour_2):
    """Return the ratio of two colours' luminances, as WCAG 2.2 defines it."""

    def luminance(colour):
        digits = colour[1:] if len(colour) == 7 else "".join(2 * d for d in colour[1:])
        parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
        r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    dark, light = sorted([luminance(colour_1), luminance(colour_2)])
    return (light + 0.05) / (dark + 0.05)


def test_letters_stand_out_from_their_ground_light_and_dark():
    assert contrast("#000", "#ffffff") == pytest.approx(21)
    for palette in palettes():
        for ground in ("paper", "band"):
            for name in palette.keys() - {"paper", "band", "line"}:
                assert contrast(palette[name], palette[ground]) >= 4.5, (name, ground)
