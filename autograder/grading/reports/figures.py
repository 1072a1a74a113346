"""What the verdicts and marks of a class add up to: exercises, labs, misconceptions, and who needs a person."""

import statistics
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from autograder.authoring.lab import Lab
from autograder.errors import listed
from autograder.grading.reports.marks import Mark, Marks
from autograder.judging.mistakes import STRUCTURAL
from autograder.results import Kind, Result, Verdict

# With fewer students a correlation says more about chance than about the exercise.
FEWEST_FOR_DISCRIMINATION = 10
FEW_POINTS = 50  # per cent: with fewer a student may need a person
MANY_ATTEMPTS = 4

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
_ENDED = dict.fromkeys((Verdict.ERROR, Verdict.TIMEOUT, Verdict.CRASH, Verdict.MISSING), "stopped") | {
    Verdict.PASS: "passed",
    Verdict.WRONG: "wrong",
}
_LONGEST_MESSAGE = 320


@dataclass(frozen=True, kw_only=True)
class ExerciseFigures:
    """How one exercise went.

    Parameters
    ----------
    by_hand : bool
        Marked by a person: there is no pass or fail, only points.
    counts : Counter of str
        How many hand-ins passed, were wrong, stopped (an error, a timeout, a crash, nothing to mark) or blank (the
        stub); of the wrong ones, those unexplained match no known mistake; those waiting a person has yet to judge.
    mean : float or None
        A percentage.
    discrimination : float or None
    """

    name: str
    points: float
    by_hand: bool
    counts: Counter[str]
    mean: float | None
    discrimination: float | None

    @property
    def tried(self) -> int:
        """Hand-ins with a verdict of their own (neither a fault nor waiting)."""
        return sum(self.counts[how] for how in ("passed", "wrong", "stopped", "blank"))

    @property
    def pass_rate(self) -> float | None:
        """A percentage."""
        return 100 * self.counts["passed"] / self.tried if self.tried and not self.by_hand else None


@dataclass(frozen=True)
class Spread:
    """A distribution of marks in percent: how many in each tenth, and what is in the middle."""

    count: int
    tenths: tuple[int, ...]
    median: float | None
    mean: float | None
    full: int


@dataclass(frozen=True, kw_only=True)
class LabFigures:
    """How one lab went."""

    name: str
    points: float
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
    labs: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Trouble:
    """One student's exercises of one lab that ended in one way."""

    student: str
    lab: str
    exercises: tuple[str, ...]
    message: str


def is_blank(row: Result) -> bool:
    """Whether the exercise was handed in as its stub."""
    return row.kind is Kind.STUB


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


def discrimination(pairs: Sequence[tuple[float, float]]) -> float | None:
    """The correlation of an exercise's points with the rest of the score.

    With pass or fail this is the corrected point-biserial correlation: corrected, because the exercise
    itself is left out of the rest.

    Parameters
    ----------
    pairs : sequence of (float, float)
        For each student: the exercise's points, and the part of the other points that they earned.

    Returns
    -------
    float or None
        None with too few pairs, or where either side is the same for everybody.
    """
    if len(pairs) < FEWEST_FOR_DISCRIMINATION:
        return None
    try:
        return statistics.correlation(*zip(*pairs, strict=True))
    except statistics.StatisticsError:
        return None


def exercise_figures(name: str, handins: Sequence[Mark]) -> ExerciseFigures:
    """How one exercise of a lab went, from all hand-ins of that lab."""
    counts: Counter[str] = Counter()
    by_hand = any(r.exercise == name and r.verdict is Verdict.MANUAL for h in handins for r in h.rows)
    points, earned, pairs = 0.0, [], []
    for handin in handins:
        row = next((r for r in handin.rows if r.exercise == name), None)
        if row is None:
            continue
        points, score = row.max_score, handin.scores.get(name, row.score)
        if is_blank(row):
            counts["blank"] += 1
        elif row.verdict in _ENDED:
            counts[_ENDED[row.verdict]] += 1
            counts["unexplained"] += row.verdict is Verdict.WRONG and row.misconception is None
        if row.verdict is Verdict.MANUAL and score is None:
            counts["waiting"] += 1
        unread = by_hand and row.verdict is not Verdict.MANUAL  # no person has judged a file that is none
        if score is None or unread or not row.max_score:
            continue
        earned.append((100 * score / row.max_score, score > 0 or name in handin.by_hand))
        others = {k: s for k, s in handin.scores.items() if k != name and s is not None}
        possible = sum(handin.points[k] for k in others)
        if possible:
            pairs.append((score, sum(others.values()) / possible))
    # While a person has yet to read, the zeros of those who wrote nothing are no mean mark.
    told = [percent for percent, read in earned if read or not (by_hand and counts["waiting"])]
    return ExerciseFigures(
        name=name,
        points=points,
        by_hand=by_hand,
        counts=counts,
        mean=statistics.fmean(told) if told else None,
        discrimination=discrimination(pairs),
    )


def lab_figures(lab: str, handins: Sequence[Mark]) -> LabFigures:
    """How one lab went, from its hand-ins."""
    names = dict.fromkeys(row.exercise for handin in handins for row in handin.rows)
    seconds = [h.seconds for h in handins]
    return LabFigures(
        name=lab,
        points=max((sum(h.points.values()) for h in handins), default=0.0),
        spread=spread([h.percent for h in handins if h.percent is not None]),
        exercises=tuple(exercise_figures(name, handins) for name in names),
        waiting=sum(h.awaits > 0 for h in handins),
        late=sum(h.late > 0 for h in handins),
        seconds=sum(seconds),
        slowest=max(seconds, default=0.0),
        typical=statistics.median(seconds) if seconds else 0.0,
    )


def misconceptions(handins: Sequence[Mark], labs: Mapping[str, Lab]) -> list[Held]:
    """The misconceptions of a class, those of most students first.

    One mistake is one misconception, in however many exercises and labs it shows.
    """
    held: dict[str, Held] = {}
    said: dict[str, Counter] = defaultdict(Counter)
    tried: dict[str, set[str]] = defaultdict(set)
    for handin in handins:
        for row in handin.rows:
            tried[row.exercise].add(handin.student)
            if row.misconception is None or row.verdict is Verdict.PASS:
                continue
            said[row.misconception][_means(row, labs)] += 1
            entry = held.setdefault(row.misconception, Held(row.misconception, ""))
            entry.by_exercise[row.exercise] += 1
            entry.holders.add(handin.student)
            entry.labs.add(row.lab)
    for name, entry in held.items():
        entry.means = said[name].most_common(1)[0][0]
        entry.tried = len(set().union(*(tried[exercise] for exercise in entry.by_exercise)))
    return sorted(held.values(), key=lambda e: (-len(e.holders), -e.by_exercise.total(), e.name))


def _means(row: Result, labs: Mapping[str, Lab]) -> str:
    """The sentence of a misconception, from the lab's definitions (or what is left of them)."""
    lab = labs.get(row.lab)
    exercise = lab.exercises.get(row.exercise) if lab else None
    known = exercise.misconceptions if exercise else []
    name = row.misconception or ""
    means = next((m.means for m in known if m.name == name), None)
    return means or STRUCTURAL.get(name, (name.replace("-", " "), ""))[0]


def troubles(handins: Sequence[Mark], of: Callable[[Result], bool]) -> list[Trouble]:
    """The rows of one kind, gathered by student and lab; those with most of them first."""
    found = []
    for handin in handins:
        rows = [row for row in handin.rows if of(row)]
        if rows:
            message = textwrap.shorten(rows[0].message, _LONGEST_MESSAGE, placeholder=" …")
            found.append(Trouble(handin.student, handin.lab, tuple(r.exercise for r in rows), message))
    return sorted(found, key=lambda t: (-len(t.exercises), t.student, t.lab))


@dataclass(frozen=True)
class Need:
    """A student who may need a person, and why."""

    student: str
    percent: float | None
    reasons: tuple[str, ...]


def needs(
    handins: Sequence[Mark], marks: Marks, missing: Mapping[str, Sequence[str]], labs: Sequence[str]
) -> list[Need]:
    """Who may need a person: nothing handed in, few points, many attempts, a file that could not be read.

    Parameters
    ----------
    handins : sequence of Mark
    marks : Marks
    missing : mapping of str to sequence of str
        By lab, who of the class has handed in nothing.
    labs : sequence of str
        Of the class: those that anybody handed in.
    """
    percents = overall(handins)
    by_student: dict[str, list[Mark]] = defaultdict(list)
    for handin in handins:
        by_student[handin.student].append(handin)
    found = []
    for student in marks.students:
        own, reasons = by_student.get(student, []), []
        absent = [lab for lab in labs if student in missing.get(lab, ())]
        if absent and len(absent) == len(labs):
            reasons.append("Has handed in nothing at all.")
        elif absent:
            reasons.append(f"Has not handed in {listed(absent)}.")
        percent = percents.get(student)
        if percent is not None and percent < FEW_POINTS:
            reasons.append(f"Has {percent:.0f} % of the points so far.")
        for handin in own:
            if handin.rows and all(row.verdict is Verdict.MISSING for row in handin.rows):
                reasons.append(f"The file for {handin.lab} could not be read.")
            if handin.attempts >= MANY_ATTEMPTS:
                reasons.append(f"Has handed in {handin.lab} {handin.attempts} times.")
        if reasons:
            found.append(Need(student, percent, tuple(reasons)))
    return sorted(found, key=lambda n: (n.percent is not None, n.percent or 0.0, -len(n.reasons)))


def overall(handins: Sequence[Mark]) -> dict[str, float]:
    """Each student's percentage over all labs that they handed in."""
    earned: dict[str, float] = defaultdict(float)
    judged: dict[str, float] = defaultdict(float)
    for handin in handins:
        earned[handin.student] += handin.score
        judged[handin.student] += handin.judged
    return {s: 100 * earned[s] / judged[s] for s in earned if judged[s]}
