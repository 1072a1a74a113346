"""nbgrader's feedback pages, with our messages in them: for a whole class, offline, and without scripts."""

import hashlib
import json
import logging
import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from functools import cache
from multiprocessing import get_context
from pathlib import Path

import nbformat
from jinja2 import pass_context
from latex2mathml.converter import convert as mathml
from nbconvert.exporters import HTMLExporter, TemplateExporter
from nbconvert.filters import Highlight2HTML
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbconvert.writers import FilesWriter
from nbformat.v4 import new_markdown_cell
from nbgrader.converters import GenerateFeedback
from nbgrader.coursedir import CourseDirectory
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder.files import write
from autograder.grading.classroom import Classroom
from autograder.grading.gradebook import GradebookError, course_config, shown
from autograder.grading.marking import NOT_RUN
from autograder.grading.sanitise import clean_markdown
from autograder.labs.build import available, release
from autograder.labs.reference import SOLUTIONS

_FEW = 4  # pages; for so few, starting processes takes longer than it saves

# Whatever a page may still hold of a student's HTML, it runs nothing, fetches nothing and sends nothing.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_HEAD = (
    f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
    '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    "<style>img { max-width: 100%; height: auto } div.prompt, .anchor-link { display: none } "
    "div.output_subarea { max-width: 100% } math { overflow-x: auto } div blockquote { font-size: inherit } "
    "details > summary { display: list-item; cursor: pointer }</style>\n"
)


@dataclass
class Pages:
    """What a run did, for the summary."""

    made: int = 0
    kept: int = 0
    failed: list[str] = field(default_factory=list)


class CleanText(NbGraderPreprocessor):
    """Comments quote what the student's code said, and must stay text; the lab's own HTML (its folded
    hints) was made text with the student's when the notebook was marked, and becomes HTML again. The code of
    illustrations, which says nothing of the student's work, is left out.
    """

    def preprocess_cell(self, cell, resources, index):
        grader = cell.metadata.get("nbgrader", {})
        if grader.get("comment"):
            grader["comment"] = clean_markdown(grader["comment"])
        if cell.cell_type == "markdown":
            ours = _cleaned_release(resources["nbgrader"]["assignment"])
            cell.source = ours.get(cell.source, cell.source)
        elif cell.get("outputs") == [NOT_RUN]:
            cell = new_markdown_cell("*(Here the lab has an illustration.)*", id=cell.id)
        return cell, resources


@cache
def _cleaned_release(lab: str) -> dict[str, str]:
    """The lab's own Markdown, by what cleaning makes of it."""
    if lab not in available():
        return {}
    cells = release(nbformat.read(SOLUTIONS / lab / f"{lab}.ipynb", as_version=4)).cells
    return {clean_markdown(c.source): c.source for c in cells if c.cell_type == "markdown"}


class _Renderer(IPythonRenderer):
    """Markdown with its formulas as MathML, which browsers show by themselves."""

    def inline_math(self, body: str) -> str:
        return self._formula(body, "inline")

    def block_math(self, body: str) -> str:
        return self._formula(body, "block")

    def _formula(self, body: str, display: str) -> str:
        try:
            return mathml(body, display=display)
        except Exception:  # noqa: BLE001 - students write formulas too
            return f"<code>{self.escape_html(body)}</code>"


class FeedbackExporter(HTMLExporter):
    """nbgrader's feedback template as a page that needs no network and runs no script."""

    @pass_context
    def markdown2html(self, context, source):
        renderer = _Renderer(
            escape=False,
            attachments=context.get("cell", {}).get("attachments", {}),
            anchor_link_text=self.anchor_link_text,
            exclude_anchor_links=self.exclude_anchor_links,
        )
        return MarkdownWithMath(renderer=renderer).render(source)

    def default_filters(self):
        yield from super().default_filters()
        yield "markdown2html", self.markdown2html

    def from_notebook_node(self, nb, resources=None, **kw):
        # Not HTMLExporter's own method: it parses the whole page again, to give pictures an alt text, and
        # that takes two thirds of the time.
        self.register_filter("highlight_code", Highlight2HTML(pygments_lexer="ipython3", parent=self))
        page, resources = TemplateExporter.from_notebook_node(self, nb, self._init_resources(resources), **kw)
        head, end, body = page.partition("</head>")
        body = re.sub(r"<img(?![^>]*\balt=)", '<img alt="a picture that has no description"', body)
        head = re.sub(r"<script\b.*?</script>", "", head, flags=re.DOTALL | re.IGNORECASE)
        head = re.sub(r"@font-face\s*\{[^}]*\}", "", head)  # of a file that no page has beside it
        head = head.replace("<head>", f"<head>\n{_HEAD}", 1).replace("<html>", '<html lang="en-GB">', 1)
        return head + end + body, resources


def write_feedback(
    classroom: Classroom,
    *,
    labs: Sequence[str] | None = None,
    db_url: str | None = None,
    force: bool = False,
    workers: int | None = None,
    started: Callable[[int], None] = lambda total: None,
    finished: Callable[[], None] = lambda: None,
) -> Pages:
    """Write `feedback/<student>/<lab>/<lab>.html` for every hand-in whose marks or notebook changed.

    Parameters
    ----------
    classroom : Classroom
    labs : sequence of str, optional
        All of them by default.
    db_url : str, optional
        The gradebook; the classroom's own by default.
    force : bool
        Make the pages again that have not changed.
    workers : int, optional
        Pages side by side; one a core by default.
    started, finished : callables
        Told the number of pages, and of each that is done, for a progress bar.

    Raises
    ------
    GradebookError
        If there is no gradebook, or it cannot be read.
    """
    url = db_url or classroom.default_db
    states = _states(url, classroom)
    pages, waiting = Pages(), []
    found = [
        (path.parent.parent.name, path.stem)
        for path in sorted(classroom.autograded.glob("*/*/*.ipynb"))
        if path.stem == path.parent.name and (labs is None or path.stem in labs)
    ]
    started(len(found))
    for student, lab in found:
        stamp = _stamp(classroom, student, lab, states.get((student, lab)))
        receipt = classroom.result_path(student, lab).with_suffix(".feedback")
        page = classroom.feedback / student / lab / f"{lab}.html"
        if not force and page.is_file() and receipt.is_file() and receipt.read_text("utf-8") == stamp:
            pages.kept += 1
            finished()
        else:
            waiting.append((student, lab, stamp, receipt))
    for (student, lab, stamp, receipt), problem in _make_all(classroom.root, url, waiting, workers):
        if problem:
            pages.failed.append(f"{student}, {lab}: {problem}")
            receipt.unlink(missing_ok=True)
            # An older page would show marks that do not hold any more.
            (classroom.feedback / student / lab / f"{lab}.html").unlink(missing_ok=True)
        else:
            pages.made += 1
            write(receipt, stamp)
        finished()
    return pages


def _make_all(root: Path, url: str, waiting: Sequence[tuple], workers: int | None):
    """Each of `waiting` with "" or what went wrong, as they get done."""
    if len(waiting) <= _FEW or workers == 1:
        for item in waiting:
            yield item, make_page(root, url, *item[:2])
        return
    from autograder.grading.pool import cores

    with ProcessPoolExecutor(min(workers or cores(), len(waiting)), get_context("spawn")) as pool:
        calls = {pool.submit(make_page, root, url, *item[:2]): item for item in waiting}
        for call in as_completed(calls):
            try:
                problem = call.result()
            except Exception as error:  # noqa: BLE001 - a process that was killed
                problem = f"{type(error).__name__}: {error}"
            yield calls[call], problem


def make_page(root: Path, url: str, student: str, lab: str) -> str:
    """Make one page; returns "" or what went wrong, so that one student's failure is nobody else's."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)  # nbgrader says a line or two a page
    try:
        converter = _converter(root, url)
        source = converter.coursedir.format_path("autograded", student, lab)
        # Given to Python as what they are, since a student's name may hold what nbgrader's globs read.
        resources = {
            "unique_key": lab,
            "output_files_dir": f"{lab}_files",
            "nbgrader": {"student": student, "assignment": lab, "notebook": lab, "db_url": url},
        }
        page, _ = converter.exporter.from_filename(os.path.join(source, f"{lab}.ipynb"), resources=resources)
        # nbgrader's exchange wants the time stamp (and its own secret) beside the page.
        converter.init_assignment(lab, student)
        write(root / "feedback" / student / lab / f"{lab}.html", page)
        return ""
    except Exception as error:  # noqa: BLE001 - whatever it is, the others' pages are made
        return f"{type(error).__name__}: {error}".split("\n")[0]
    finally:
        logging.disable(before)


@cache
def _converter(root: Path, url: str) -> GenerateFeedback:
    """nbgrader's converter for a classroom, once a process: its template takes a while to load."""
    config = course_config()
    config.CourseDirectory.root = str(root.resolve())
    config.CourseDirectory.autograded_directory = "autograded"
    config.CourseDirectory.feedback_directory = "feedback"
    config.CourseDirectory.db_url = url
    steps = [name for name in config.GenerateFeedback.preprocessors if not name.endswith("CleanText")]
    steps.insert(1, f"{__name__}.CleanText")  # after GetGrades, which brings the comments
    config.GenerateFeedback.preprocessors = steps
    config.GenerateFeedback.exporter_class = f"{__name__}.FeedbackExporter"
    converter = GenerateFeedback(coursedir=CourseDirectory(config=config), config=config)
    converter.writer = FilesWriter(parent=converter, config=converter.config)
    converter.exporter = converter.exporter_class(parent=converter, config=converter.config)
    for step in converter.preprocessors:
        converter.exporter.register_preprocessor(step)
    return converter


def _states(url: str, classroom: Classroom) -> dict[tuple[str, str], list]:
    """What the gradebook says of each hand-in: scores, comments and penalty."""
    from nbgrader import api
    from sqlalchemy.engine import make_url

    try:
        address = make_url(url)
        if address.get_backend_name() == "sqlite" and not Path(address.database or "").is_file():
            raise FileNotFoundError("there is none yet; run `autograder grade` first")
        states: dict[tuple[str, str], list] = {}
        # nbgrader's GetGrades opens the gradebook under this course; made here, no two processes make it.
        with api.Gradebook(url) as book:
            sub, note, cell = api.SubmittedAssignment, api.SubmittedNotebook, api.BaseCell
            for table, columns in (
                (api.Grade, (api.Grade.auto_score, api.Grade.manual_score, api.Grade.extra_credit)),
                (api.Comment, (api.Comment.auto_comment, api.Comment.manual_comment)),
            ):
                rows = (
                    book.db.query(
                        sub.student_id, api.Assignment.name, cell.name, note.late_submission_penalty, *columns
                    )
                    .select_from(table)
                    .join(note, table.notebook_id == note.id)
                    .join(sub, note.assignment_id == sub.id)
                    .join(api.Assignment, sub.assignment_id == api.Assignment.id)
                    .join(cell, table.cell_id == cell.id)
                    .order_by(cell.name)
                )
                for student, lab, *state in rows:
                    states.setdefault((student, lab), []).append(state)
        return states
    except Exception as error:  # noqa: BLE001 - drivers raise many kinds
        reason = str(getattr(error, "orig", None) or error).strip().split("\n")[0]
        raise GradebookError(f"The gradebook {shown(url)} cannot be read: {reason}.") from None


def _stamp(classroom: Classroom, student: str, lab: str, state: list | None) -> str:
    """A hash of all that a page shows."""
    notebook = (classroom.autograded / student / lab / f"{lab}.ipynb").read_bytes()
    parts = (notebook, json.dumps(state).encode(), _code())
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()


@cache
def _code() -> bytes:
    return Path(__file__).read_bytes()
