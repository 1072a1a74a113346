"""A student's page: what was handed in and when, the marks, what went wrong, and their own answers.

Made for its reader: one screen says it all, the answers with what the checks found stand below, and the lab
itself is folded away. It needs neither a network nor a script, and nothing that students wrote acts in it.
"""

import json
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from itertools import takewhile
from pathlib import Path
from typing import Any

import nbformat
from markupsafe import Markup
from nbconvert.exporters import Exporter

from autograder.authoring.lab import Lab, lab_at, read_lab
from autograder.authoring.release import release
from autograder.cells import grade_id, id_of, id_of_test, nbgrader_of
from autograder.course import find
from autograder.errors import counted, listed
from autograder.files import concerns_disk, hash_of, write
from autograder.grading.marking import NOT_RUN, Marked
from autograder.grading.marking.mark import release_for_marking
from autograder.grading.marking.sanitise import cut
from autograder.grading.nbgrader.gradebook import (
    GradebookError,
    earlier_marks,
    exists,
    said_of_earlier,
    shown,
)
from autograder.grading.register import evidence
from autograder.grading.register.classroom import Classroom
from autograder.grading.register.policy import read_policy
from autograder.grading.register.requests import Request
from autograder.grading.reports import shown as safely
from autograder.grading.reports.marks import Mark, Marks, class_today, full_name, read_marks
from autograder.grading.reports.shown import moment, span
from autograder.grading.run.grade import described
from autograder.grading.run.limited import NotDone, each
from autograder.grading.run.progress import Progress
from autograder.judging.judge import because
from autograder.judging.mistakes import NOT_WRITTEN, STRUCTURAL
from autograder.results import Kind, Result, Verdict

SECONDS = 30  # for one page; an honest one takes a fiftieth of a second
MAX_CELLS = 60  # of the student's own that a page shows
FOLDED = 4  # lines of a right answer that were handed out; fewer stay open
WAITS = "waits"  # the state of an answer that nobody has read
_SCHEME = re.compile(r"#+\s*BEGIN MARK SCHEME.*?(?:#+\s*END MARK SCHEME[^\n]*|\Z)", re.DOTALL)


@dataclass
class Pages:
    """What a run did, for the summary."""

    made: int = 0
    kept: int = 0
    failed: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Line:
    """One exercise or question in the summary.

    Parameters
    ----------
    name, sign, state : str
        The state in a word or two, and a sign that says the same.
    points : str
        "2 of 3"; "– of 3" for what nobody has read yet.
    wrong, nudge : str
        What went wrong, and what to think about.
    comment : str
        What a person has said.
    requests : tuple of Request
        What the student asked of it, and was told.
    """

    name: str
    sign: str
    state: str
    points: str
    wrong: str = ""
    nudge: str = ""
    comment: str = ""
    requests: tuple[Request, ...] = ()


@dataclass(frozen=True)
class Sheet:
    """What a page says besides the notebook."""

    course: str
    student: str
    name: str
    title: str
    lab: str
    total: str
    facts: tuple[str, ...]
    lines: tuple[Line, ...]
    waits: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unreadable: str = ""


def write_feedback(
    classroom: Classroom,
    *,
    labs: Sequence[Lab],
    progress: Progress,
    force: bool = False,
    workers: int | None = None,
) -> Pages:
    """Write `feedback/<student>/<lab>/<lab>.html` for every hand-in whose marks or notebook changed.

    Parameters
    ----------
    classroom : Classroom
    labs : sequence of Lab
    force : bool
        Make the pages again that have not changed.
    workers : int, optional
        Pages side by side; one a core by default.

    Raises
    ------
    GradebookError
        If there is no gradebook, or it cannot be read.
    """
    from autograder.grading.run.pool import cores

    if not exists(classroom.db):
        raise GradebookError(
            f"The gradebook {shown(classroom.db)} cannot be read: there is none yet; run `autograder grade` first."
        )
    classroom.must_be_writable()
    by_name = {lab.name: lab for lab in labs}
    marks = class_today(classroom, by_name)
    found = evidence.stored(classroom)
    waiting = [
        (path.parent.parent.name, path.stem)
        for path in classroom.files_in(classroom.autograded, "*/*/*.ipynb")
        if path.stem == path.parent.name and path.stem in by_name
    ]
    progress.started(len(waiting))
    pages, todo = Pages(), []
    exchange = any(classroom.submitted.glob("*/*/submission_secret.txt"))

    @contextmanager
    def made(student: str, lab: str) -> Iterator[tuple[Path, Path]]:
        """Its receipt and its page; what goes wrong costs this page, unless it concerns the disk."""
        receipt, page = classroom.result_path(student, lab, "feedback"), classroom.page_path(student, lab)
        try:
            yield receipt, page
        except Exception as error:
            if concerns_disk(error):
                raise
            pages.failed.append(f"{student}, {lab}: {described(error)}".split("\n")[0][:500])
            for path in (receipt, page):  # an older page would show marks that do not hold any more
                with suppress(OSError):  # such as a folder in its place
                    path.unlink(missing_ok=True)

    for student, lab in waiting:
        with made(student, lab) as (receipt, page):
            data = classroom.notebook_path(student, lab).read_bytes()
            sheet = sheet_of(classroom, by_name[lab], student, marks, found.get((student, lab)))
            stamp = _stamp(data, sheet)
            if force or not page.is_file() or _text(receipt) != stamp:
                todo.append((sheet, stamp))
                continue
            pages.kept += 1
        progress.finished()
    course = str(classroom.course.root)
    calls = [(course, one, str(classroom.notebook_path(one.student, one.lab))) for one, _ in todo]
    for i, outcome in each(make_page, calls, workers=workers or cores(), seconds=SECONDS, plainer=True):
        sheet, stamp = todo[i]
        with made(sheet.student, sheet.lab) as (receipt, page):
            if isinstance(outcome, NotDone):
                raise outcome
            write(page, outcome)
            _beside(classroom, sheet.student, sheet.lab, exchange)
            write(receipt, stamp)
            pages.made += 1
        progress.finished()
    return pages


def make_page(course: str, sheet: Sheet, notebook: str, plain: bool) -> str:
    """One page; in a worker, since it touches what a student wrote."""
    return render(sheet, lab_at(course, sheet.lab), json.loads(Path(notebook).read_bytes()), plain)


def _beside(classroom: Classroom, student: str, lab: str, exchange: bool) -> None:
    """nbgrader's exchange wants the time stamp, and its own secret, beside the page.

    It gives nobody a page if one of a class has neither; whose secret is made up can fetch none.
    """
    made_up = {"timestamp.txt": "\n", "submission_secret.txt": secrets.token_hex(64)} if exchange else {}
    for name in ("timestamp.txt", "submission_secret.txt"):
        text = _text(classroom.notebook_path(student, lab, name)) or made_up.get(name)
        if text:
            write(classroom.page_path(student, lab, name), text)


def _text(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except (OSError, ValueError):
        return ""


def _stamp(notebook: bytes, sheet: Sheet) -> str:
    """A hash of all that a page shows."""
    return hash_of(notebook, json.dumps(asdict(sheet), sort_keys=True), _code())


@cache
def _code() -> bytes:
    here = Path(__file__).parent
    files = (
        "feedback.py",
        "shown.py",
        *(f"templates/{name}" for name in ("feedback.html", "_page.html", "_page.css")),
    )
    return b"".join((here / name).read_bytes() for name in files)


# The summary


def sheet_of(
    classroom: Classroom,
    lab: Lab,
    student: str,
    marks: Marks,
    marked: Marked | None,
) -> Sheet:
    """What the page of one hand-in says.

    Parameters
    ----------
    marked : Marked or None
        What marking found; None where plain `nbgrader autograde` has marked.

    Raises
    ------
    KeyError
        If the gradebook does not know the hand-in.
    """
    mark = marks.marks[student, lab.name]
    rows = {row.exercise: row for row in (marked.rows if marked else ())}
    earlier = earlier_marks(classroom, student, lab.name)
    asked = marks.requests.get((student, lab.name), {})
    lines = tuple(
        replace(_line(lab, name, mark, rows, earlier.get(name)), requests=asked.get(name, ()))
        for name in _order(lab, mark)
    )
    facts = list(_facts(lab, student, mark, marks))
    if classroom.counting(student, lab.name):
        facts.append("Of your attempts an earlier one counts, which has more points than the newest.")
    who = marks.students.get(student)
    sheet = _sheet(lab, mark, lines, marked)
    return replace(sheet, student=student, name=full_name(who) if who else student, facts=tuple(facts))


def sheet_of_one(lab: Lab, marked: Marked, points: Mapping[str, float]) -> Sheet:
    """What is said of a hand-in that is in no classroom: neither whose it is nor when it came.

    Parameters
    ----------
    points : mapping of str to float
        What each exercise and question is worth today.
    """
    rows = {row.exercise: row.worth(points[row.exercise]) for row in marked.rows}
    scores = {name: row.score for name, row in rows.items()}
    scores |= {name: 0.0 for name in marked.untouched if name in lab.by_hand}
    mark = Mark(student="", lab=lab.name, scores=scores, points={n: row.max_score for n, row in rows.items()})
    lines = tuple(_line(lab, name, mark, rows, None) for name in _order(lab, mark))
    return _sheet(lab, mark, lines, marked)


def _sheet(lab: Lab, mark: Mark, lines: tuple[Line, ...], marked: Marked | None) -> Sheet:
    """What is said of a hand-in, whoever's it is and whenever it came."""
    unreadable = _why_unreadable(marked) if marked else ""
    return Sheet(
        course=lab.course.title,
        student="",
        name="",
        title=lab.title,
        lab=lab.name,
        total=_total(mark),
        facts=(),
        lines=lines,
        waits=tuple(line.name for line in lines if line.state == WAITS),
        notes=tuple(marked.notes) if marked and not unreadable else (),
        unreadable=unreadable,
    )


def _why_unreadable(marked: Marked) -> str:
    """Why nothing of a hand-in could be marked, as `marking.unmarkable` leaves it: one reason for all."""
    reasons = {row.message for row in marked.rows}
    nothing = all(row.verdict is Verdict.MISSING for row in marked.rows)
    return reasons.pop() if nothing and reasons and reasons == set(marked.notes) else ""


def _order(lab: Lab, mark: Mark) -> list[str]:
    """The exercises and questions of the mark in the notebook's order."""
    cells = [id_of(cell) for cell in release_for_marking(lab).cells]
    place = {name: cells.index(grade_id(name)) for name in mark.scores if grade_id(name) in cells}
    place |= {name: cells.index(name) for name in mark.scores if name in cells}
    return sorted(mark.scores, key=lambda name: place.get(name, len(cells)))


def _total(mark: Mark) -> str:
    waiting = sum(mark.points[name] for name, score in mark.scores.items() if score is None)
    if mark.awaits or waiting:
        return f"{mark.score:g} of {mark.judged:g} points so far"
    return f"{mark.score:g} of {sum(mark.points.values()):g} points"


def _facts(lab: Lab, student: str, mark: Mark, marks: Marks) -> Iterator[str]:
    policy = marks.policy
    together = [one for one in marks.partners.get((student, lab.name), ()) if one != student]
    if together:
        yield f"Handed in together with {listed(full_name(marks.students[one]) for one in together)}."
    due = marks.labs[lab.name].due if lab.name in marks.labs else None
    if due and mark.extension:
        due += mark.extension
    granted = " (with your extension)" if mark.extension else ""
    until = f"; it was due on {moment(policy.local(due))}{granted}" if due else ""
    if mark.timestamp:
        yield f"Handed in on {moment(policy.local(mark.timestamp))}{until}."
    elif due:
        yield f"Due on {moment(policy.local(due))}{granted}."
    if mark.late:
        cost = (
            f"{mark.penalty:g} of {mark.raw:g} points are taken off"
            if mark.penalty
            else "nothing is taken off"
        )
        free = (
            f"{mark.free_days} of your {counted(policy.late_days, 'late day')} used, "
            if mark.free_days
            else ""
        )
        yield f"{span(mark.late)} late: {free}{cost}."


def _line(lab: Lab, name: str, mark: Mark, rows: Mapping[str, Result], earlier: Sequence | None) -> Line:
    most, score, row = mark.points[name], mark.scores[name], rows.get(name)
    points = f"{'–' if score is None else f'{score:g}'} of {most:g}"
    comment = mark.comments.get(name, "")
    if earlier:
        comment += f"\n{said_of_earlier(earlier, most)}"
    comment = comment.strip()
    if not most:
        return Line(name, "·", "does not count", "–", comment=comment)
    if score is None:
        return Line(name, "…", WAITS, points, wrong="A person will read this answer.", comment=comment)
    if name not in lab.exercises:
        if name in mark.by_hand:
            return Line(name, "✎", "read by a person", points, comment=comment)
        return Line(name, "✗", "no answer", points, wrong="No answer was written here.", comment=comment)
    wrong, nudge = _explained(lab, row, rows) if row else ("", "")
    if name in mark.by_hand:
        return Line(name, "✎", "points given by a person", points, wrong, nudge, comment)
    if score >= most:
        followed = row.message if row and row.kind is Kind.FOLLOWED else ""
        return Line(name, "✓", "right", points, wrong=followed, comment=comment)
    return Line(name, "✗", "not right yet", points, wrong, nudge, comment)


def _explained(lab: Lab, row: Result, rows: Mapping[str, Result]) -> tuple[str, str]:
    """What went wrong and what to think about, by the misconception's own sentences where it is known."""
    if row.verdict is Verdict.PASS:
        return "", ""
    if row.kind is Kind.STUB:
        return NOT_WRITTEN, ""
    known = {m.name: (m.means, m.nudge) for m in lab.exercises[row.exercise].misconceptions}
    known = {**STRUCTURAL, **known}
    if row.misconception in known:
        means, nudge = known[row.misconception]
        if not means:
            return cut(row.message, 600), nudge
        if row.cause and row.cause in rows:
            means = f"{because(row.cause, rows[row.cause].kind is not Kind.STUB)} {means}"
        return means, nudge
    return cut(row.message, 600), ""


# The page


def render(sheet: Sheet, lab: Lab, notebook: Mapping[str, Any], plain: bool = False) -> str:
    """The page as HTML; what students wrote is escaped or cleaned, and bounded."""
    cells = [cell for cell in notebook["cells"] if isinstance(cell, dict)]
    show = safely.Showing(plain)
    answers = [] if sheet.unreadable else list(_answers(sheet, lab, cells, show))
    others, left_out = ([], 0) if sheet.unreadable else _others(lab, cells, show)
    return safely.page(
        "feedback.html", sheet=sheet, answers=answers, others=others, left_out=left_out, whole=_whole(lab)
    )


@dataclass(frozen=True)
class Answer:
    """One answer as the page shows it, all parts HTML."""

    line: Line
    question: Markup
    parts: tuple[tuple[str, Markup], ...]  # each with what is said where it is folded
    is_code: bool
    outputs: tuple[Markup, ...] = ()
    findings: tuple[Markup, ...] = ()


def _answers(sheet: Sheet, lab: Lab, cells: Sequence[dict], show: safely.Showing) -> Iterator[Answer]:
    by_id = {id_of(cell): cell for cell in cells if id_of(cell)}
    for line in sheet.lines:
        is_exercise = line.name in lab.exercises
        cell = by_id.get(grade_id(line.name) if is_exercise else line.name)
        if cell is None:
            continue
        source, is_code = str(cell.get("source", "")), cell.get("cell_type") == "code"
        test = by_id.get(id_of_test(line.name), {}) if is_exercise else {}
        yield Answer(
            line,
            Markup("") if is_exercise else question_of(lab, line.name),
            tuple((folded, show.code(part)) for folded, part in _parts(lab, line, source))
            if is_code
            else (("", show.prose(cell, _without_scheme(source))),),
            is_code,
            tuple(filter(None, map(safely.output, _outputs(cell)))),
            tuple(
                filter(
                    None, map(safely.finding, (o for o in _outputs(test) if o.get("output_type") != "error"))
                )
            ),
        )


def _parts(lab: Lab, line: Line, source: str) -> Iterator[tuple[str, str]]:
    """An answer's code, in up to three parts: of one that is right, what it begins and ends with as it was handed out
    is folded. What is folded comes with what is said of it."""
    lines, given = source.split("\n"), _stubs(lab).get(grade_id(line.name), [])
    first = last = 0
    if line.sign == "✓":
        first = _alike(lines, given)
        last = _alike(lines[:first:-1], given[:first:-1])
    first, last = (many if many >= FOLDED else 0 for many in (first, last))
    if first + last >= len(lines):
        first = last = 0
    end = len(lines) - last
    if first:
        yield f"The first {first} lines, as they were handed out", "\n".join(lines[:first])
    yield "", "\n".join(lines[first:end])
    if last:
        yield f"The last {last} lines, as they were handed out", "\n".join(lines[end:])


def _alike(some: Sequence[str], others: Sequence[str]) -> int:
    """With how many equal lines two texts begin."""
    pairs = zip(some, others, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


@cache
def _stubs(lab: Lab) -> Mapping[str, list[str]]:
    """The lines of the cells in which exercises are answered, as they were handed out."""
    return {id_of(cell): cell.source.split("\n") for cell in _released(lab).cells if cell.cell_type == "code"}


def question_of(lab: Lab, name: str) -> Markup:
    """The locked cell above an answer, without its marking scheme."""
    cells = _released(lab).cells
    at = next((i for i, cell in enumerate(cells) if id_of(cell) == name), 0)
    return _prose_of_lab(cells[at - 1].source) if at and cells[at - 1].cell_type == "markdown" else Markup("")


def _others(
    lab: Lab, cells: Sequence[dict], show: safely.Showing
) -> tuple[list[tuple[Markup, bool, tuple[Markup, ...]]], int]:
    """The student's own cells, and those of the lab that they changed; how many more there are."""
    ours = _sources(lab)
    own = [
        cell
        for cell in cells
        if not nbgrader_of(cell)
        and cell.get("id") != "grader-notes"
        and str(cell.get("source", "")) not in ours
        and str(cell.get("source", "")).strip()
        and NOT_RUN not in _outputs(cell)
    ]
    shown_cells = []
    for cell in own[:MAX_CELLS]:
        source, is_code = str(cell.get("source", "")), cell.get("cell_type") == "code"
        outputs = tuple(filter(None, map(safely.output, _outputs(cell)[:20])))
        shown_cells.append(
            (show.code(source) if is_code else show.prose(cell, _without_scheme(source)), is_code, outputs)
        )
    return shown_cells, max(0, len(own) - MAX_CELLS)


@cache
def _released(lab: Lab) -> nbformat.NotebookNode:
    """The lab as it was handed out."""
    return release(lab.read_solution(), lab)


@cache
def _sources(lab: Lab) -> frozenset[str]:
    """What stands in the cells of the lab, with and without its marking schemes."""
    return frozenset(c.source for made in (release_for_marking(lab), _released(lab)) for c in made.cells)


@cache
def _whole(lab: Lab) -> Markup:
    """The lab as it was handed out, for reading beside the answers; made once for all its pages."""
    parts = []
    for cell in _released(lab).cells:
        nbgrader = nbgrader_of(cell)
        if nbgrader.get("grade") and cell.cell_type == "code":
            continue
        if cell.cell_type == "markdown":
            parts.append(Markup("<div class='prose'>{}</div>").format(_prose_of_lab(cell.source)))
        else:
            parts.append(Markup("<pre>{}</pre>").format(safely.coloured(cell.source)))
    return Markup("\n").join(parts)


@cache
def _prose_of_lab(source: str) -> Markup:
    return safely.markdown(_without_scheme(source))


def _without_scheme(source: str) -> str:
    """A cell's text without a marking scheme, which an older version of the lab may have left there."""
    return _SCHEME.sub("", source)


def _outputs(cell: Mapping[str, Any]) -> list[dict]:
    outputs = cell.get("outputs")
    return [one for one in outputs if isinstance(one, dict)] if isinstance(outputs, list) else []


class FeedbackExporter(Exporter):
    """The same page for nbgrader's own `generate_feedback`, from the course's own classroom."""

    output_mimetype = "text/html"

    def _file_extension_default(self) -> str:
        return ".html"

    def from_notebook_node(self, nb: nbformat.NotebookNode, resources: Any = None, **kw: Any) -> Any:
        where = (resources or {}).get("nbgrader", {})
        course = find()
        classroom = Classroom(course.classroom, course, where.get("db_url"))
        lab, student = read_lab(course, where["assignment"]), where["student"]
        marks = read_marks(classroom, read_policy(course, {lab.name: lab}))
        marked = evidence.stored(classroom, student).get((student, lab.name))
        sheet = sheet_of(classroom, lab, student, marks, marked)
        _, resources = super().from_notebook_node(nbformat.v4.new_notebook(), resources, **kw)
        return render(sheet, lab, nb), resources
