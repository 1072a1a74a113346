"""A grading run: what is handed in, judged where it has changed, kept, priced, and written into the gradebook."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from autograder.authoring.lab import Lab
from autograder.errors import Usage, listed, printable
from autograder.files import concerns_disk
from autograder.grading.marking import Marked, faulty
from autograder.grading.register import evidence
from autograder.grading.register.classroom import Classroom, GradingError, Submission
from autograder.grading.register.policy import read_policy
from autograder.grading.run.limited import NotDone
from autograder.grading.run.pool import Options, Pool
from autograder.grading.run.progress import Progress
from autograder.results import Result

if TYPE_CHECKING:
    from autograder.grading.nbgrader.gradebook import Book


ALIKE = 3  # hand-ins in a row that fail in one way, until it is asked whether they are to blame


@dataclass
class Run:
    """What a run did, for the summary."""

    judged: int = 0
    kept: int = 0
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def grade(
    classroom: Classroom,
    labs: Sequence[Lab],
    options: Options,
    *,
    workers: int,
    put: Callable[[Result], None],
    progress: Progress,
    scheduler: str | None = None,
    students: Sequence[str] = (),
    force: bool = False,
) -> Run:
    """Mark every hand-in of these labs.

    Parameters
    ----------
    put : callable
        Given each row as it is known.
    students : sequence of str
        Only theirs; everybody's by default.
    force : bool
        Judge again what has not changed since it was judged.

    Raises
    ------
    GradingError
    """
    by_name = {lab.name: lab for lab in labs}
    policy = read_policy(classroom.course, by_name)
    classroom.must_be_writable()
    grader = _Grader(classroom, by_name, options, policy.points, put, progress)
    for name in classroom.unnameable():
        grader.run.faults.append(
            f"the folder {name} cannot be marked; rename it in plain, printable letters."
        )
    for name in classroom.strangers():
        grader.run.faults.append(
            f"the folder {name} belongs to no lab, so nothing in it is marked; rename it to one of "
            f"{listed(classroom.course.labs)}, or take it away."
        )
    handed_in = classroom.handed_in(list(by_name))
    if students:
        missing = sorted(
            set(students) - {student for student, _ in classroom.handed_in(classroom.course.labs)}
        )
        if missing:
            raise Usage(f"No hand-in of {listed(missing)} is in {classroom.submitted}.")
        handed_in = [who for who in handed_in if who[0] in students]
    progress.started(len(handed_in))
    present = [lab for lab in by_name if any(lab == name for _, name in handed_in)]
    place = {lab: i for i, lab in enumerate(present)}
    handed_in.sort(key=lambda who: (place[who[1]], who[0]))  # lab by lab: see `pool.mark_limited`
    workers = max(1, min(workers, len(handed_in)))
    root = str(classroom.course.root)
    with (
        Pool(root, present, grader.options, workers, scheduler, progress.said) as pool,
        ExitStack() as opened,
    ):
        if policy.best_attempt:
            from autograder.grading.run.attempts import choose_attempts

            grader.run.notes += choose_attempts(
                classroom, by_name, handed_in, policy, pool, grader.options, force
            )
        kept = {} if force else grader.kept(handed_in)
        if len(kept) < len(handed_in):
            pool.start()
        # While the workers start, nbgrader is imported, which takes its time: here, since its modules import each
        # other in a circle, and fail where two threads go round it from two places.
        from autograder.grading.nbgrader.gradebook import Book, put_aside_time

        # The first of them while the gradebook is opened.
        marked = pool.mark_all(classroom.submission(*who) for who in handed_in if who not in kept)
        for student, lab in handed_in:
            if put_aside_time(classroom.submitted / student / lab):
                grader.run.notes.append(
                    f"{student}, {lab}: timestamp.txt says no time, and is called timestamp.txt.unreadable now; "
                    "no lateness is counted."
                )
        book = opened.enter_context(Book(classroom))
        book.prepare([by_name[lab] for lab in present], policy)
        grader.finish_kept(kept.values(), book)
        grader.finish_new(marked, book, pool)
        book.settle(present, policy)
    return grader.run


class _Grader:
    """One run over the hand-ins of a class: a failure of one is a fault of one."""

    def __init__(
        self,
        classroom: Classroom,
        labs: dict[str, Lab],
        options: Options,
        prices: Mapping[str, Mapping[str, float]],
        put: Callable[[Result], None],
        progress: Progress,
    ):
        self.classroom, self.labs, self.prices = classroom, labs, prices
        self.options = Options(options.follow_through, options.sandbox, classroom.salt)
        self.put, self.progress = put, progress
        self.run = Run()

    def kept(self, handed_in: Iterable[tuple[str, str]]) -> dict[tuple[str, str], tuple[Submission, Marked]]:
        """What stands as it was judged, by student and lab; the submissions without their bytes."""
        found = {}
        for who in handed_in:
            if self.classroom.result_path(*who).exists():
                submission = self.classroom.submission(*who)
                if (marked := self._kept(submission)) is not None:
                    found[who] = replace(submission, data=None), marked
        return found

    def finish_kept(self, kept: Iterable[tuple[Submission, Marked]], book: "Book") -> None:
        """Finish what stands as it was judged."""
        for submission, marked in kept:
            self.run.kept += 1
            self._finish(book, submission, marked, new=False)

    def finish_new(
        self, marked: Iterator[tuple[Submission, Marked | Exception]], book: "Book", pool: Pool
    ) -> None:
        """Finish each hand-in as it is marked.

        Raises
        ------
        GradingError
            If some fail in one way, and the lab as it was handed out does too: then all would.
        """
        alike, before, most = 0, "", ALIKE
        for submission, outcome in marked:
            if isinstance(outcome, Exception):
                outcome = faulty(self.labs[submission.lab], described(outcome))
            cause = " ".join(outcome.faults[:1])
            alike = alike + 1 if cause and cause == before else bool(cause)
            before = cause
            if alike == most:
                if why := pool.why_not(submission.lab):
                    raise GradingError(
                        f"{submission.lab} cannot be marked here: {alike} hand-ins failed in one way, and so does "
                        f"the lab as it was handed out. {why} Nothing more was tried; what is marked is kept."
                    )
                alike, most = 0, 2 * most  # it is their own doing
            self.run.judged += 1
            said = (*outcome.notes, *outcome.log)
            self.run.notes += [f"{submission.student}, {submission.lab}: {note}" for note in said]
            self._finish(book, submission, outcome.of(submission.student), new=True)

    def _kept(self, submission: Submission) -> Marked | None:
        if not self.classroom.notebook_path(submission.student, submission.lab).is_file():
            return None
        try:
            return evidence.kept(self.classroom, submission, self.labs[submission.lab], self.options)
        except Exception:  # noqa: BLE001 - what was kept and cannot be read is found again
            return None

    def _finish(self, book: "Book", submission: Submission, marked: Marked, *, new: bool) -> None:
        """Keep, record and pass on what was found in one hand-in."""
        stands = ""
        try:
            if new and marked.faults and self._kept(submission) is not None:  # of these very bytes
                stands = " The mark that is there stands."
            else:
                self._keep(book, submission, marked, new)
        except GradingError:
            raise  # of the class, not of this hand-in
        except Exception as error:
            if concerns_disk(error):
                raise
            self._forget(submission)
            marked = faulty(self.labs[submission.lab], described(error)).of(submission.student)
        if marked.faults:
            self.run.faults.append(f"{submission.student}, {submission.lab}: {marked.faults[0]}{stands}")
        for row in priced(marked, self.prices[submission.lab]):
            self.put(row)
        self.progress.finished()

    def _keep(self, book: "Book", submission: Submission, marked: Marked, new: bool) -> None:
        if new and marked.faults:
            self._forget(submission)  # an older result must not stand for a mark that failed
            evidence.keep_notebook(self.classroom, submission, marked)
        elif new:
            evidence.keep(self.classroom, submission, marked, self.labs[submission.lab], self.options)
        if new or not book.has(submission, marked):
            book.record(submission, marked)

    def _forget(self, submission: Submission) -> None:
        with suppress(OSError):  # it may be a folder, or lie below a file
            self.classroom.result_path(submission.student, submission.lab).unlink(missing_ok=True)


def described(error: Exception) -> str:
    """An exception in a line, such as a person can read and a terminal can show."""
    if isinstance(error, NotDone):
        return str(error)
    return printable(f"{type(error).__name__}: {error}".split("\n")[0])[:500]


def priced(marked: Marked, points: Mapping[str, float]) -> list[Result]:
    """The rows of a hand-in at today's points."""
    return [row.worth(points.get(row.exercise, row.max_score)) for row in marked.rows]
