"""The class in one page: how the labs went, what was misunderstood, and who to talk to.

The page needs neither a network nor a script. What stands in it comes from the results of marking; the
marks come from the gradebook, so that marks by hand and late penalties count.
"""

import inspect
import json
import re
import statistics
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cache
from importlib import import_module
from pathlib import Path

import nbformat
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from autograder.compare import STRUCTURAL
from autograder.files import write
from autograder.grading import similarity
from autograder.grading.classroom import Classroom
from autograder.grading.marking import release_for_marking
from autograder.grading.marks import TABLES, Mark, Marks, Student, read_marks, shown_name
from autograder.grading.pseudonyms import pseudonyms
from autograder.grading.sanitise import clean_markdown
from autograder.labs import LABS, exercises
from autograder.labs.build import available
from autograder.labs.reference import SOLUTIONS
from autograder.results import Result, Verdict

# With fewer students a correlation says more about chance than about the exercise.
FEWEST_FOR_DISCRIMINATION = 10
MOST_PAIRS = 100

# Verdicts that call for a talk (or for the instructor's own hand), the most urgent first.
TALK = {
    Verdict.FAULT: ("The grader failed", "No mark was given. Run autograder grade again."),
    Verdict.MISSING: (
        "Nothing to mark",
        "The function is not there, or the notebook could not be read; ask for it again.",
    ),
    Verdict.CRASH: ("The process died", "The code ended its own process, or went over the memory limit."),
    Verdict.TIMEOUT: ("Took too long", "Often a loop that never ends."),
    Verdict.ERROR: ("Raised an error", "The function ran into an error of Python or NumPy."),
}
_STOPPED = {Verdict.ERROR, Verdict.TIMEOUT, Verdict.CRASH, Verdict.MISSING}
_NOT_WRITTEN = "This exercise is not written yet."  # as autograder.compare says it
_LONGEST_MESSAGE = 320


@dataclass(frozen=True)
class HandIn:
    """What marking one hand-in gave, and its mark."""

    student: str
    lab: str
    rows: tuple[Result, ...]
    notes: tuple[str, ...]
    work: similarity.Work
    mark: Mark | None = None

    @property
    def seconds(self) -> float:
        return sum(row.seconds for row in self.rows)


@dataclass(frozen=True)
class ExerciseFigures:
    """How one exercise went.

    Parameters
    ----------
    by_hand : bool
        Marked by a person: there is no pass or fail, only points.
    tried : int
        Hand-ins with a verdict of their own (neither a fault nor waiting).
    passed, wrong, stopped, blank : int
        They add up to `tried`. Stopped: an error, a timeout, a crash, nothing to mark. Blank: the stub.
    unexplained : int
        Of the wrong ones, those that match no known mistake.
    waiting : int
        Hand-ins that a person has yet to judge.
    pass_rate, mean : float or None
        Percentages.
    discrimination : float or None
    """

    name: str
    points: float
    by_hand: bool
    tried: int
    passed: int
    wrong: int
    stopped: int
    blank: int
    unexplained: int
    waiting: int
    pass_rate: float | None
    mean: float | None
    discrimination: float | None


@dataclass(frozen=True)
class Spread:
    """A distribution of marks in percent: how many in each tenth, and what is in the middle."""

    count: int
    tenths: tuple[int, ...]
    median: float | None
    mean: float | None
    full: int


@dataclass(frozen=True)
class LabFigures:
    """How one lab went."""

    name: str
    spread: Spread
    exercises: tuple[ExerciseFigures, ...]
    waiting: int
    late: int
    seconds: float
    slowest: float
    typical: float


@dataclass
class Held:
    """A misconception, and who holds it in which exercises."""

    name: str
    means: str
    by_exercise: Counter = field(default_factory=Counter)
    holders: set[str] = field(default_factory=set)
    tried: int = 0


@dataclass(frozen=True)
class Trouble:
    """One student's exercises of one lab that ended in one way."""

    student: str
    lab: str
    exercises: tuple[str, ...]
    message: str


@dataclass(frozen=True)
class Alike:
    """Two hand-ins worth a look."""

    lab: str
    students: tuple[str, str]
    words: float | None
    code: float | None
    passage: str


def write_report(classroom: Classroom, *, anonymous: bool = False, db_url: str | None = None) -> Path:
    """Write `report/`: the page, and the marks as nbgrader, Canvas and Moodle want them.

    Parameters
    ----------
    classroom : Classroom
    anonymous : bool
        Pseudonyms for names, and nothing that students wrote themselves. Which pseudonym is whose stands
        in `pseudonyms.csv`, beside the report's folder.
    db_url : str, optional
        The gradebook; the classroom's own by default.

    Returns
    -------
    Path
        The page.

    Raises
    ------
    GradebookError
        If there is a gradebook and it cannot be read.
    """
    handins, unread = read_handins(classroom)
    marks = read_marks(classroom, db_url)
    marks.complete({(h.student, h.lab): h.rows for h in handins})
    unmarked = _unmarked(classroom, handins)
    students = {*marks.students, *(s for s, _ in unmarked + unread)}
    if anonymous:
        names = {s: p for s, p in pseudonyms(students, classroom.root).items() if s in students}
        handins = [_nameless(h, names[h.student], marks.students[h.student]) for h in handins]
        unmarked = [(names[s], lab) for s, lab in unmarked]
        unread = [(names[s], lab) for s, lab in unread]
        marks = marks.renamed(names)
    handins = [_with_mark(h, marks) for h in handins]
    page = render(handins, marks, unmarked=unmarked, unread=unread, anonymous=anonymous)
    for name, table in TABLES.items():
        write(classroom.report / name, table(marks))
    write(classroom.report / "index.html", page)
    return classroom.report / "index.html"


def read_handins(classroom: Classroom) -> tuple[list[HandIn], list[tuple[str, str]]]:
    """Every stored result, and (student, lab) of those that cannot be read."""
    handins, unread = [], []
    for path in sorted(classroom.results.glob("*/*.json")):
        try:
            record = json.loads(path.read_text("utf-8"))
            rows = [{**row, "verdict": Verdict(row["verdict"])} for row in record["rows"]]
            handins.append(
                HandIn(
                    path.parent.name,
                    path.stem,
                    tuple(Result(**row) for row in rows),
                    tuple(record["notes"]),
                    similarity.read_work(_own_cells(path.stem, record["notebook"])),
                )
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            unread.append((path.parent.name, path.stem))
    return handins, unread


def _own_cells(lab: str, notebook: dict) -> Iterable[dict]:
    """The cells that a student has written in."""
    released = _released(lab)
    for cell in notebook["cells"]:
        nbgrader = cell["metadata"].get("nbgrader")
        locked = nbgrader is not None and not nbgrader.get("solution")
        if not locked and cell.get("id") != "grader-notes" and cell["source"] not in released:
            yield cell


@cache
def _released(lab: str) -> frozenset[str]:
    """What stands in the cells of the release (in a result, Markdown is cleaned)."""
    if lab not in available():
        return frozenset()
    sources = [cell.source for cell in release_for_marking(lab).cells]
    return frozenset(sources + [clean_markdown(source) for source in sources])


def _unmarked(classroom: Classroom, handins: Sequence[HandIn]) -> list[tuple[str, str]]:
    """Hand-ins that have no result: not marked yet, or the grader failed on them."""
    marked = {(h.student, h.lab) for h in handins}
    return [who for who in classroom.handed_in(list(LABS)) if who not in marked]


def _nameless(handin: HandIn, name: str, student: Student) -> HandIn:
    """A hand-in under a pseudonym, without any text that its author may have written."""
    rows = tuple(replace(row, student=name, message=_ours(row)) for row in handin.rows)
    notes = tuple(_nameless_note(note, student) for note in handin.notes)
    return replace(handin, student=name, rows=rows, notes=notes)


def _nameless_note(note: str, student: Student) -> str:
    """A note without the file names and cell names that it quotes, which are the student's own."""
    note = re.sub(r"'.*'|\".*\"|“.*”", "“…”", note, flags=re.DOTALL)
    note = re.sub(r"^.*\.ipynb (?=is )", "The file ", note, flags=re.DOTALL)
    known = (student.id, student.first_name, student.last_name, student.email)
    if any(part and part.lower() in note.lower() for part in known):
        return "The file was odd in a way that would tell whose it is."
    return note


def _ours(row: Result) -> str:
    return _NOT_WRITTEN if is_blank(row) else ""


def _with_mark(handin: HandIn, marks: Marks) -> HandIn:
    mark = marks.marks[handin.student, handin.lab]
    return replace(handin, mark=mark)


def is_blank(row: Result) -> bool:
    """Whether the exercise was handed in as its stub."""
    return row.verdict is Verdict.ERROR and row.message.startswith(_NOT_WRITTEN)


def spread(percents: Sequence[float]) -> Spread:
    """The distribution of these percentages.

    >>> spread([0, 55, 100]).tenths
    (1, 0, 0, 0, 0, 1, 0, 0, 0, 1)
    """
    counts = Counter(min(int(p // 10), 9) for p in percents)
    return Spread(
        len(percents),
        tuple(counts[i] for i in range(10)),
        statistics.median(percents) if percents else None,
        statistics.fmean(percents) if percents else None,
        sum(p >= 99.995 for p in percents),
    )


def discrimination(
    pairs: Sequence[tuple[float, float]], fewest: int = FEWEST_FOR_DISCRIMINATION
) -> float | None:
    """The correlation of an exercise's points with the rest of the score.

    With pass or fail this is the corrected point-biserial correlation: corrected, because the exercise
    itself is left out of the rest.

    Parameters
    ----------
    pairs : sequence of (float, float)
        For each student: the exercise's points, and the part of the other points that they earned.
    fewest : int

    Returns
    -------
    float or None
        None with fewer pairs, or where either side is the same for everybody.
    """
    if len(pairs) < fewest:
        return None
    try:
        return statistics.correlation(*zip(*pairs, strict=True))
    except statistics.StatisticsError:
        return None


def exercise_figures(name: str, handins: Sequence[HandIn]) -> ExerciseFigures:
    """How one exercise of a lab went, from all hand-ins of that lab."""
    counts: Counter = Counter()
    points, by_hand, unexplained, earned, pairs = 0.0, False, 0, [], []
    for handin in handins:
        row = next((r for r in handin.rows if r.exercise == name), None)
        if row is None:
            continue
        points, score = row.max_score, handin.mark.scores.get(name, row.score)
        by_hand |= row.verdict is Verdict.MANUAL
        if row.verdict in {Verdict.PASS, Verdict.WRONG}:
            counts[row.verdict] += 1
            unexplained += row.verdict is Verdict.WRONG and row.misconception is None
        elif is_blank(row):
            counts["blank"] += 1
        elif row.verdict in _STOPPED:
            counts["stopped"] += 1
        if row.verdict is Verdict.MANUAL and score is None:
            counts["waiting"] += 1
        if score is None or not row.max_score:
            continue
        earned.append(100 * score / row.max_score)
        others = {k: s for k, s in handin.mark.scores.items() if k != name and s is not None}
        possible = sum(handin.mark.points[k] for k in others)
        if possible:
            pairs.append((score, sum(others.values()) / possible))
    tried = counts[Verdict.PASS] + counts[Verdict.WRONG] + counts["blank"] + counts["stopped"]
    return ExerciseFigures(
        name,
        points,
        by_hand,
        tried,
        counts[Verdict.PASS],
        counts[Verdict.WRONG],
        counts["stopped"],
        counts["blank"],
        unexplained,
        counts["waiting"],
        100 * counts[Verdict.PASS] / tried if tried and not by_hand else None,
        statistics.fmean(earned) if earned else None,
        discrimination(pairs),
    )


def lab_figures(lab: str, handins: Sequence[HandIn]) -> LabFigures:
    """How one lab went, from its hand-ins."""
    names = dict.fromkeys(row.exercise for handin in handins for row in handin.rows)
    seconds = [h.seconds for h in handins]
    return LabFigures(
        lab,
        spread([h.mark.percent for h in handins if h.mark.percent is not None]),
        tuple(exercise_figures(name, handins) for name in names),
        sum(h.mark.awaits > 0 for h in handins),
        sum(h.mark.late > 0 for h in handins),
        sum(seconds),
        max(seconds, default=0.0),
        statistics.median(seconds) if seconds else 0.0,
    )


def misconceptions(handins: Sequence[HandIn]) -> list[Held]:
    """The misconceptions of a class, those of most students first.

    One mistake made in several exercises is one misconception, if it means the same in each.
    """
    held: dict[tuple[str, str], Held] = {}
    tried: dict[str, set[str]] = defaultdict(set)
    for handin in handins:
        for row in handin.rows:
            tried[row.exercise].add(handin.student)
            if row.misconception is None or row.verdict is Verdict.PASS:
                continue
            means = _means(row)
            entry = held.setdefault((row.misconception, means), Held(row.misconception, means))
            entry.by_exercise[row.exercise] += 1
            entry.holders.add(handin.student)
    for entry in held.values():
        entry.tried = len(set().union(*(tried[exercise] for exercise in entry.by_exercise)))
    return sorted(held.values(), key=lambda e: (-len(e.holders), -e.by_exercise.total(), e.name))


def _means(row: Result) -> str:
    """The sentence of a misconception, from the lab's definitions (or what is left of them)."""
    try:
        known = exercises(row.lab)[row.exercise].misconceptions
    except (KeyError, ImportError):
        known = []
    means = next((m.means for m in known if m.name == row.misconception), None)
    return means or STRUCTURAL.get(row.misconception, [row.misconception.replace("-", " ")])[0]


def troubles(handins: Sequence[HandIn], of: Callable[[Result], bool]) -> list[Trouble]:
    """The rows of one kind, gathered by student and lab; those with most of them first."""
    found = []
    for handin in handins:
        rows = [row for row in handin.rows if of(row)]
        if rows:
            message = textwrap.shorten(rows[0].message, _LONGEST_MESSAGE, placeholder=" …")
            found.append(Trouble(handin.student, handin.lab, tuple(r.exercise for r in rows), message))
    return sorted(found, key=lambda t: (-len(t.exercises), t.student, t.lab))


def alike(lab: str, handins: Sequence[HandIn]) -> list[Alike]:
    """Pairs of a lab's hand-ins that share more than the lab, the class and chance explain."""
    if lab not in available():
        return []  # without the lab's own text, everything would look copied
    ours = [
        similarity.read_work(release_for_marking(lab).cells),
        similarity.read_work(nbformat.read(SOLUTIONS / lab / f"{lab}.ipynb", as_version=4).cells),
        similarity.read_work([{"cell_type": "code", "source": _definitions(lab)}]),
    ]
    pairs = similarity.alike([h.work for h in handins], ours)
    return [
        Alike(lab, (handins[p.one].student, handins[p.other].student), p.words, p.code, p.passage)
        for p in pairs[:MOST_PAIRS]
        if handins[p.one].student != handins[p.other].student
    ]


def _definitions(lab: str) -> str:
    """The source of the lab's known mistakes: who makes one of them has copied it from nobody."""
    return inspect.getsource(import_module(f"autograder.labs.{lab.replace('-', '_')}"))


def render(
    handins: Sequence[HandIn],
    marks: Marks,
    *,
    unmarked: Sequence[tuple[str, str]] = (),
    unread: Sequence[tuple[str, str]] = (),
    anonymous: bool = False,
    now: datetime | None = None,
) -> str:
    """The page as HTML; everything in it that is not ours is escaped."""
    handins = sorted(handins, key=lambda h: (h.student, h.lab))
    by_lab = {lab: [h for h in handins if h.lab == lab] for lab in _in_order({h.lab for h in handins})}
    labs = [lab_figures(lab, of_lab) for lab, of_lab in by_lab.items()]
    names = {s.id: shown_name(s) for s in marks.students.values()}
    page = _environment().get_template("report.html")
    text = page.render(
        labs=labs,
        overall=spread(_overall(handins)),
        handins=len(handins),
        students=len({h.student for h in handins}),
        absent=sorted(set(marks.students) - {h.student for h in handins}),
        held=misconceptions(handins),
        talk=[
            (verdict, *TALK[verdict], found)
            for verdict in TALK
            if (found := troubles(handins, lambda r, v=verdict: r.verdict is v and not is_blank(r)))
        ],
        blank=troubles(handins, is_blank),
        unmarked=sorted(unmarked),
        unread=sorted(unread),
        alike=[pair for lab, of_lab in by_lab.items() for pair in alike(lab, of_lab)],
        notes=[h for h in handins if h.notes],
        late=[h for h in handins if h.mark.late > 0],
        slowest=sorted(handins, key=lambda h: -h.seconds)[:5],
        seconds=sum(h.seconds for h in handins),
        due=any(lab.due for lab in marks.labs.values()),
        waiting=sum(h.mark.awaits > 0 for h in handins),
        from_gradebook=marks.from_gradebook,
        anonymous=anonymous,
        fewest=FEWEST_FOR_DISCRIMINATION,
        who=lambda student: names.get(student, student),
        title=lambda lab: LABS.get(lab, {}).get("title", lab),
        now=(now or datetime.now()).strftime("%d %B %Y, %H:%M").lstrip("0"),
    )
    # A folder's name may hold bytes that are no UTF-8.
    return text.lstrip().encode("utf-8", "replace").decode("utf-8")


def _in_order(labs: Iterable[str]) -> list[str]:
    return sorted(labs, key=lambda lab: ((*LABS, lab).index(lab), lab))


def _overall(handins: Sequence[HandIn]) -> list[float]:
    """Each student's percentage over all labs that they handed in."""
    earned: dict[str, float] = defaultdict(float)
    judged: dict[str, float] = defaultdict(float)
    for handin in handins:
        earned[handin.student] += handin.mark.score
        judged[handin.student] += handin.mark.judged
    return [100 * earned[s] / judged[s] for s in earned if judged[s]]


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
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
        ticks=_ticks,
        points=lambda number: f"{number:g}",
        span=span,
        plural=lambda count, one, many=None: f"{count} {one if count == 1 else many or one + 's'}",
    )
    return environment


def _ticks(text: str) -> Markup:
    """A sentence whose `backticks` become code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


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
