"""A grading run: what is handed in, marked where it has changed, kept, and written into the gradebook."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from autograder.grading.classroom import Classroom, Submission, named
from autograder.grading.marking import Marked, faulty
from autograder.grading.pool import Options, Pool
from autograder.results import Result, Verdict

if TYPE_CHECKING:
    from autograder.grading.gradebook import Book


@dataclass
class Run:
    """What a run did, for the summary."""

    judged: int = 0
    kept: int = 0
    faults: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def grade(
    classroom: Classroom,
    labs: Sequence[str],
    options: Options,
    *,
    workers: int,
    scheduler: str | None = None,
    force: bool = False,
    db_url: str | None = None,
    started: Callable[[int], None] = lambda total: None,
    finished: Callable[[], None] = lambda: None,
) -> Iterator[Result | Run]:
    """Mark every hand-in of these labs; yields each row as it is known, and the `Run` at the end.

    Parameters
    ----------
    force : bool
        Mark again what has not changed since it was marked.
    started, finished : callables
        Told the number of hand-ins, and of each that is done, for a progress bar.

    Raises
    ------
    GradingError
    """
    run = Run()
    options = replace(options, salt=classroom.salt)
    for name in classroom.unnameable():
        run.faults.append(f"the folder {name} cannot be marked; rename it in plain, printable letters.")
    handed_in = classroom.handed_in(labs)
    started(len(handed_in))
    present = sorted({lab for _, lab in handed_in})
    workers = max(1, min(workers, len(handed_in)))
    with Pool(options, workers, scheduler) as pool, ExitStack() as opened:
        if force or not all(classroom.result_path(*who).exists() for who in handed_in):
            pool.start(present)  # while nbgrader is imported, and opens the gradebook
        from autograder.grading.gradebook import Book

        book = opened.enter_context(Book(classroom, db_url))
        for lab in present:
            book.prepare(lab)

        waiting: list[tuple[str, str]] = []
        for student, lab in handed_in:
            submission = classroom.submission(student, lab)
            marked = None if force else classroom.kept(submission, options.follow_through)
            if marked is None:
                waiting.append((student, lab))
                continue
            run.kept += 1
            if not classroom.recorded(submission, book.url):
                _record(classroom, book, submission, marked)
            yield from marked.rows
            finished()

        submissions = (classroom.submission(*who) for who in waiting)
        for submission, outcome in pool.mark_all(submissions):
            marked = _settled(submission, outcome)
            failed = [row.message for row in marked.rows if row.verdict is Verdict.FAULT]
            if failed:
                run.faults.append(f"{submission.student}, {submission.lab}: {failed[0]}")
                classroom.drop(submission)  # an older result must not stand for a mark that failed
            else:
                classroom.keep(submission, marked, options.follow_through)
            run.judged += 1
            run.notes += [f"{submission.student}, {submission.lab}: {note}" for note in marked.notes]
            _record(classroom, book, submission, marked)
            yield from marked.rows
            finished()
    yield run


def _settled(submission: Submission, outcome: Marked | Exception) -> Marked:
    if isinstance(outcome, Exception):
        outcome = faulty(submission.lab, f"{type(outcome).__name__}: {outcome}")
    return named(outcome, submission.student)


def _record(classroom: Classroom, book: "Book", submission: Submission, marked: Marked) -> None:
    classroom.forget_recorded(submission)
    book.record(submission, marked)
    if all(row.verdict is not Verdict.FAULT for row in marked.rows):
        classroom.note_recorded(submission, book.url)
