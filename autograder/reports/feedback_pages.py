"""Write the students' feedback pages: an HTML file for each graded submission."""

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import Exporter

from autograder.authoring.lab import Lab, read_lab, read_lab_in
from autograder.core.course import find_course
from autograder.core.files import hash_parts, is_disk_error, write_file
from autograder.gradebook import result_store
from autograder.gradebook.attempt_choice import describe_ungraded_attempts
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.nbgrader_db import GradebookError, gradebook_exists, remove_password
from autograder.gradebook.policy import read_policy
from autograder.grading.progress import Progress
from autograder.grading.run import describe_error
from autograder.grading.worker import WorkerFailed, run_calls_in_workers
from autograder.reports.feedback_summary import build_summary, make_released_notebook
from autograder.reports.marks import read_marks, refresh_and_read_marks
from autograder.reports.student_page import FeedbackSummary, render_student_page

MAX_PAGE_SECONDS = 30  # an ordinary page takes a fiftieth of a second
MAX_FAILURE_CHARACTERS = 500
_PAGE_SOURCES = (
    "student_page.py",
    "safe_html.py",
    "templates/feedback.html",
    "templates/_page.html",
    "templates/_page.css",
)


@dataclass
class FeedbackOutcome:
    """Counts of the written and unchanged feedback pages, and a sentence for each failure.

    Parameters
    ----------
    notes : list of str
        Sentences about what could not be shown on the pages, such as a regrade request.
    """

    written_count: int = 0
    unchanged_count: int = 0
    failures: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def write_feedback_pages(
    classroom: Classroom,
    *,
    labs: Sequence[Lab],
    progress: Progress,
    force: bool = False,
    workers: int | None = None,
) -> FeedbackOutcome:
    """Write `feedback/<student>/<lab>/<lab>.html` for all graded submissions.

    A page is not written again if the marks and the notebook have not changed.

    Parameters
    ----------
    force : bool
        Write all pages again, even if nothing has changed.
    workers : int, optional
        Number of pages rendered at the same time; by default the number of cores.

    Raises
    ------
    GradebookError
        If there is no gradebook, or it cannot be read.
    """
    if not gradebook_exists(classroom.db):
        raise GradebookError(
            f"The gradebook {remove_password(classroom.db)} cannot be read: there is none yet; "
            "run `autograder grade` first."
        )
    classroom.require_writable()
    writer = _PageWriter(classroom, {lab.name: lab for lab in labs}, progress)
    changed_pages = writer.find_changed_pages(force)
    writer.write_pages(changed_pages, workers)
    return writer.outcome


@dataclass(frozen=True)
class _ChangedPage:
    """Feedback page to be written: its summary, and a hash of everything that affects the page."""

    summary: FeedbackSummary
    stamp: str


class _PageWriter:
    """Writer of a class's feedback pages; it writes only those that have changed."""

    def __init__(self, classroom: Classroom, labs: Mapping[str, Lab], progress: Progress):
        self.classroom = classroom
        self.labs = labs
        self.progress = progress
        self.outcome = FeedbackOutcome()
        # A submission_secret.txt shows that the class's submissions are collected through
        # nbgrader's exchange, which adds this file to each of them.
        self.uses_exchange = any(classroom.submitted.glob("*/*/submission_secret.txt"))

    def find_changed_pages(self, force: bool) -> list[_ChangedPage]:
        """Return the pages whose summary or notebook has changed; with `force`, all pages."""
        classroom, changed_pages = self.classroom, []
        marks = refresh_and_read_marks(classroom, self.labs)
        self.outcome.notes += marks.request_notes
        self.outcome.notes += describe_ungraded_attempts(classroom, self.labs, marks.policy)
        stored_results = result_store.load_all_results(classroom)
        submissions = self._list_graded_submissions()
        self.progress.start(len(submissions))
        for student, lab in submissions:
            with self._record_failure_and_delete_page(student, lab):
                notebook = classroom.notebook_path(student, lab).read_bytes()
                submission = stored_results.get((student, lab))
                summary = build_summary(classroom, self.labs[lab], student, marks, submission)
                stamp = _hash_page_inputs(notebook, summary)
                stamp_path = classroom.result_path(student, lab, "feedback")
                page = classroom.page_path(student, lab)
                if force or not page.is_file() or _read_text(stamp_path) != stamp:
                    changed_pages.append(_ChangedPage(summary, stamp))
                    continue
                self.outcome.unchanged_count += 1
            self.progress.advance()
        return changed_pages

    def write_pages(self, pages: Sequence[_ChangedPage], workers: int | None) -> None:
        """Render pages in worker processes; write each page, and a hash of what it depends on."""
        from autograder.grading.pool import count_cores

        course = str(self.classroom.course.root)
        calls = []
        for page in pages:
            notebook = self.classroom.notebook_path(page.summary.student, page.summary.lab)
            calls.append((course, page.summary, str(notebook)))
        outcomes = run_calls_in_workers(
            render_page_file,
            calls,
            workers=workers or count_cores(),
            seconds=MAX_PAGE_SECONDS,
            retry_with_simpler_result=True,
        )
        for i, outcome in outcomes:
            student, lab = pages[i].summary.student, pages[i].summary.lab
            with self._record_failure_and_delete_page(student, lab):
                if isinstance(outcome, WorkerFailed):
                    raise outcome
                write_file(self.classroom.page_path(student, lab), outcome)
                self._write_timestamp_and_secret(student, lab)
                write_file(self.classroom.result_path(student, lab, "feedback"), pages[i].stamp)
                self.outcome.written_count += 1
            self.progress.advance()

    def _list_graded_submissions(self) -> list[tuple[str, str]]:
        """Return (student, lab) for each submission that has a graded notebook."""
        submissions = []
        for path in self.classroom.list_files(self.classroom.autograded, "*/*/*.ipynb"):
            lab = path.stem
            if lab == path.parent.name and lab in self.labs:
                submissions.append((path.parent.parent.name, lab))
        return submissions

    @contextmanager
    def _record_failure_and_delete_page(self, student: str, lab: str) -> Iterator[None]:
        """Report an error in the `with` block as a failure of one page, and delete this page.

        Errors of the disk, such as a full one, are raised, since they concern all pages.
        """
        try:
            yield
        except Exception as error:
            if is_disk_error(error):
                raise
            message = f"{student}, {lab}: {describe_error(error)}".split("\n")[0]
            self.outcome.failures.append(message[:MAX_FAILURE_CHARACTERS])
            stamp_path = self.classroom.result_path(student, lab, "feedback")
            page = self.classroom.page_path(student, lab)
            for path in (stamp_path, page):  # delete an older page, which shows outdated marks
                with suppress(OSError):  # such as when the path is a folder
                    path.unlink(missing_ok=True)

    def _write_timestamp_and_secret(self, student: str, lab: str) -> None:
        """Write the files timestamp.txt and submission_secret.txt, which nbgrader's exchange needs.

        If one student's files are missing, `nbgrader release_feedback` fails for all students. So a
        random secret is written for a submission without a secret; nobody can use it.
        """
        substitutes = {}
        if self.uses_exchange:
            substitutes = {"timestamp.txt": "\n", "submission_secret.txt": secrets.token_hex(64)}
        for name in ("timestamp.txt", "submission_secret.txt"):
            text = _read_text(self.classroom.notebook_path(student, lab, name))
            text = text or substitutes.get(name, "")
            if text:
                write_file(self.classroom.page_path(student, lab, name), text)


def render_page_file(
    course_path: str, summary: FeedbackSummary, notebook_path: str, without_markup: bool
) -> str:
    """Return one feedback page as HTML; called in a worker, since it reads a student's file.

    This runs in a worker process, since it processes a student's file.

    Parameters
    ----------
    course_path, notebook_path : str
        Paths of the course's folder and of the graded notebook.
    without_markup : bool
        Show code without colours and Markdown as plain text, which takes less time.
    """
    released_notebook = make_released_notebook(read_lab_in(course_path, summary.lab))
    content = json.loads(Path(notebook_path).read_bytes())
    return render_student_page(summary, released_notebook, content, without_markup)


def _read_text(path: Path) -> str:
    """Return the text of a file; "" if the file cannot be read."""
    try:
        return path.read_text("utf-8")
    except (OSError, ValueError):
        return ""


def _hash_page_inputs(notebook: bytes, summary: FeedbackSummary) -> str:
    """Return a hash of everything that a feedback page shows, so that a change can be noticed."""
    return hash_parts(notebook, json.dumps(asdict(summary), sort_keys=True), _read_page_sources())


@cache
def _read_page_sources() -> bytes:
    folder = Path(__file__).parent
    return b"".join((folder / name).read_bytes() for name in _PAGE_SOURCES)


class NbgraderFeedbackExporter(Exporter):
    """Exporter with which `nbgrader generate_feedback` writes the autograder's feedback pages."""

    output_mimetype = "text/html"

    def _file_extension_default(self) -> str:
        return ".html"

    def from_notebook_node(
        self, nb: nbformat.NotebookNode, resources: Any = None, **kw: Any
    ) -> Any:
        """Return the feedback page as HTML, and the dict of resources that nbconvert needs."""
        settings = (resources or {}).get("nbgrader", {})
        course = find_course()
        classroom = Classroom(course.classroom, course, settings.get("db_url"))
        lab, student = read_lab(course, settings["assignment"]), settings["student"]
        marks = read_marks(classroom, read_policy(course, {lab.name: lab}))
        submission = result_store.load_all_results(classroom, student).get((student, lab.name))
        summary = build_summary(classroom, lab, student, marks, submission)
        _, resources = super().from_notebook_node(nbformat.v4.new_notebook(), resources, **kw)
        return render_student_page(summary, make_released_notebook(lab), nb), resources
