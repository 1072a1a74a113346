"""Which of a class's hand-ins are worth a look. Whatever touches them has a limit of time and memory."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from alike.compare import Pair, Work, alike_as_json, read_file, read_work
from autograder.authoring.lab import Lab, read_labs
from autograder.grading.marking import Marked
from autograder.grading.marking.mark import release_for_marking
from autograder.grading.register import evidence
from autograder.grading.register.classroom import Classroom
from autograder.grading.register.roll import Roll
from autograder.grading.run.limited import NotDone, Worker, each
from autograder.grading.run.pool import cores
from autograder.results import Kind, Verdict

READING_SECONDS = 20  # for the words of one hand-in
COMPARING_SECONDS = 300  # for the hand-ins of a lab with each other
MOST_PAIRS = 100


@dataclass(frozen=True)
class Alike:
    """Two hand-ins worth a look.

    Parameters
    ----------
    words, code : float or None
        As in `compare.Pair`.
    same_file : bool
        To the byte.
    """

    lab: str
    students: tuple[str, str]
    words: float | None
    code: float | None
    passage: str
    same_file: bool = False


@dataclass(frozen=True)
class HandIn:
    """One hand-in, as far as it is compared."""

    student: str
    work: Work
    seed: int = 0  # of its fresh cases: the same for the same bytes, 0 if there was no file
    empty: bool = False  # as it was handed out, or no notebook at all: many have the same then, from nobody


@dataclass
class Found:
    """What there is to say of a class."""

    pairs: list[Alike] = field(default_factory=list)
    not_compared: list[str] = field(default_factory=list)


def pairs_of(classroom: Classroom, roll: Roll) -> Found:
    """The pairs of all labs; what could not be read or compared in time is named."""
    labs, found = read_labs(classroom.course), Found()
    stored = evidence.stored(classroom)
    for name, lab in labs.items():
        of_lab = [(student, m) for (student, of), m in stored.items() if of == name and m is not None]
        released = frozenset(cell.source for cell in release_for_marking(lab).cells)
        calls = [(str(classroom.notebook_path(student, name)), released) for student, _ in of_lab]
        handins = []
        for i, outcome in sorted(each(read_file, calls, workers=cores(), seconds=READING_SECONDS)):
            student, marked = of_lab[i]
            if isinstance(outcome, NotDone):
                found.not_compared.append(f"{student}, {name}: to read its words {outcome.why}")
            else:
                handins.append(HandIn(student, Work.from_json(outcome), marked.seed, _is_empty(marked)))
        partners = {student: group for group in roll.partners(name) for student in group}
        try:
            found.pairs += pairs(lab, handins, partners)
        except NotDone as problem:
            found.not_compared.append(f"{name}: to compare its hand-ins {problem.why}")
    return found


def _is_empty(marked: Marked) -> bool:
    verdicts = (Verdict.MANUAL, Verdict.MISSING)
    return all(row.kind is Kind.STUB or row.verdict in verdicts for row in marked.rows)


def _compared(works: Sequence[Work], common: Sequence[Work]) -> list[Pair]:
    worker = Worker()
    try:
        text = worker.run(alike_as_json, works, common, seconds=COMPARING_SECONDS)
    finally:
        worker.close()
    return [Pair(*pair) for pair in json.loads(text)]


def pairs(
    lab: Lab,
    handins: Sequence[HandIn],
    partners: Mapping[str, tuple[str, ...]],
    compare: Callable[[Sequence[Work], Sequence[Work]], list[Pair]] = _compared,
) -> list[Alike]:
    """Pairs of a lab's hand-ins that share more than the lab, the class and chance explain.

    Those who handed one in together are no pair.
    """
    definitions = "\n".join(path.read_text("utf-8") for path in sorted(lab.folder.glob("*.py")))
    ours = [
        read_work(release_for_marking(lab).cells),
        read_work(lab.read_solution().cells),
        # Who makes one of the known mistakes has copied it from nobody.
        read_work([{"cell_type": "code", "source": definitions}], most=10_000_000),
    ]
    groups: dict[tuple[str, ...], HandIn] = {}
    for handin in handins:  # of a group's one hand-in, one copy is compared
        groups.setdefault(partners.get(handin.student, (handin.student,)), handin)
    one_each = list(groups.values())
    by_seed: dict[int, list[str]] = defaultdict(list)
    for handin in one_each:
        if handin.seed and not handin.empty:
            by_seed[handin.seed].append(handin.student)
    file_of = {student: seed for seed, students in by_seed.items() for student in students}
    same = [
        Alike(lab.name, pair, None, None, "", same_file=True)
        for students in sorted(by_seed.values(), key=len)  # a crowd comes after those who are two
        for pair in pairwise(students)
    ]
    found = [
        Alike(lab.name, (one.student, other.student), p.words, p.code, p.passage)
        for p in compare([h.work for h in one_each], ours)
        for one, other in [(one_each[p.one], one_each[p.other])]
        if one.student != other.student
        and (one.student not in file_of or file_of[one.student] != file_of.get(other.student))
    ]
    return same[:MOST_PAIRS] + in_turn(found)[:MOST_PAIRS]


def in_turn(found: Sequence[Alike]) -> list[Alike]:
    """Everybody's first pair before anybody's second, so that no crowd takes all the room that there is."""
    seen: Counter[str] = Counter()
    turns = []
    for pair in found:
        turns.append(max(seen[student] for student in pair.students))
        seen.update(pair.students)
    return [pair for _, pair in sorted(zip(turns, found, strict=True), key=lambda item: item[0])]
