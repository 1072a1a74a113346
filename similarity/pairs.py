"""Find pairs of students with similar submissions, within limits of time and memory."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from autograder.authoring.lab import Lab, read_labs
from autograder.core.results import ResultReason, Verdict
from autograder.gradebook import result_store
from autograder.gradebook.class_list import ClassList
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.graded_submission import GradedSubmission
from autograder.grading.grade_submission import release_for_grading
from autograder.grading.pool import count_cores
from autograder.grading.worker import Worker, WorkerFailed, run_calls_in_workers
from similarity.shared_passages import (
    PairScore,
    TokenStreams,
    find_similar_pairs_as_json,
    read_notebook_as_json,
    tokenise_cells,
)

READING_SECONDS = 20  # time limit for reading the tokens of one submission
COMPARING_SECONDS = 300  # time limit for comparing all submissions of a lab with each other
MAX_LAB_PAIRS = 100
MAX_DEFINITION_TOKENS = 10_000_000


@dataclass(frozen=True)
class SimilarPair:
    """Two students with similar submissions for a lab, and a passage that both have.

    Parameters
    ----------
    words, code : float or None
        Shares of common words and code, as in `PairScore`.
    passage : str
        Longest run of words that both submissions have.
    same_file : bool
        True if both students submitted the same bytes.
    """

    lab: str
    students: tuple[str, str]
    words: float | None
    code: float | None
    passage: str
    same_file: bool = False


@dataclass(frozen=True)
class ComparedSubmission:
    """Words and code of one student's submission, for comparison with other submissions.

    Parameters
    ----------
    file_hash : str
        Hash of the submitted file; "" if there was no file.
    is_empty : bool
        True for an unchanged released notebook or a missing one. Many students have the same
        without copying from each other.
    """

    student: str
    tokens: TokenStreams
    file_hash: str = ""
    is_empty: bool = False


@dataclass
class SimilarityReport:
    """Similar pairs of a class, and sentences about submissions that could not be compared."""

    pairs: list[SimilarPair] = field(default_factory=list)
    not_compared: list[str] = field(default_factory=list)


def find_class_pairs(classroom: Classroom, class_list: ClassList) -> SimilarityReport:
    """Return the similar pairs of all labs, and the submissions that could not be compared."""
    report = SimilarityReport()
    results = result_store.load_all_results(classroom)
    for name, lab in read_labs(classroom.course).items():
        graded_submissions = {}
        for (student, lab_name), result in results.items():
            if lab_name == name and result is not None:
                graded_submissions[student] = result
        if not graded_submissions:
            continue  # starting two workers and reading the lab's own words takes half a second
        submissions = _read_submissions(classroom, lab, graded_submissions, report)
        partners = {student: group for group in class_list.find_groups(name) for student in group}
        try:
            report.pairs += find_lab_pairs(lab, submissions, partners)
        except WorkerFailed as error:
            report.not_compared.append(f"{name}: to compare its submissions {error.reason}")
    return report


def _read_submissions(
    classroom: Classroom,
    lab: Lab,
    graded_submissions: Mapping[str, GradedSubmission],
    report: SimilarityReport,
) -> list[ComparedSubmission]:
    """Read the words and code of all submissions for a lab, in worker processes.

    Sentences about submissions that cannot be read are added to the report.
    """
    students = list(graded_submissions)
    released_sources = frozenset(cell.source for cell in release_for_grading(lab).cells)
    calls = [
        (str(classroom.notebook_path(student, lab.name)), released_sources) for student in students
    ]
    outcomes = run_calls_in_workers(
        read_notebook_as_json,
        calls,
        workers=count_cores(),
        seconds=READING_SECONDS,
    )
    submissions = []
    for i, outcome in sorted(outcomes):
        student = students[i]
        if isinstance(outcome, WorkerFailed):
            report.not_compared.append(f"{student}, {lab.name}: to read its words {outcome.reason}")
            continue
        graded = graded_submissions[student]
        submission = ComparedSubmission(
            student, TokenStreams.from_json(outcome), graded.file_hash, _is_empty(graded)
        )
        submissions.append(submission)
    return submissions


def _is_empty(graded: GradedSubmission) -> bool:
    """Return True if a submission answers no exercise that is graded automatically."""
    verdicts = (Verdict.MANUAL, Verdict.MISSING)
    return all(row.kind is ResultReason.STUB or row.verdict in verdicts for row in graded.results)


def _compare_in_worker(
    submissions: Sequence[TokenStreams],
    common: Sequence[TokenStreams],
) -> list[PairScore]:
    """Compare submissions in a worker process, and return the scores of similar pairs.

    Raises `WorkerFailed` if it takes too much time or memory.
    """
    worker = Worker()
    try:
        text = worker.run(
            find_similar_pairs_as_json,
            submissions,
            common,
            seconds=COMPARING_SECONDS,
        )
    finally:
        worker.close()
    return [PairScore(*values) for values in json.loads(text)]


def find_lab_pairs(
    lab: Lab,
    submissions: Sequence[ComparedSubmission],
    partners: Mapping[str, tuple[str, ...]],
    compare: Callable[
        [Sequence[TokenStreams], Sequence[TokenStreams]],
        list[PairScore],
    ] = _compare_in_worker,
) -> list[SimilarPair]:
    """Return the pairs of similar submissions for a lab; pairs with the same file come first.

    Parameters
    ----------
    partners : mapping of str to tuple of str
        Group of each student who submitted together with others. The members of a group are not
        compared with each other.
    compare : callable
        Function that returns the scores of similar pairs, given the submissions' tokens and the
        tokens that everybody may have.
    """
    groups: dict[tuple[str, ...], ComparedSubmission] = {}
    for submission in submissions:  # compare only one copy of a group's submission
        group = partners.get(submission.student, (submission.student,))
        groups.setdefault(group, submission)
    unique_submissions = list(groups.values())
    same_file_pairs = _find_same_files(lab, unique_submissions)
    scores = compare(
        [submission.tokens for submission in unique_submissions],
        _read_common_tokens(lab),
    )
    similar_pairs = []
    for score in scores:
        first, second = unique_submissions[score.first], unique_submissions[score.second]
        if first.student != second.student and not _is_same_file(first, second):
            students = (first.student, second.student)
            pair = SimilarPair(lab.name, students, score.words, score.code, score.passage)
            similar_pairs.append(pair)
    return (
        same_file_pairs[:MAX_LAB_PAIRS] + interleave_pairs_by_student(similar_pairs)[:MAX_LAB_PAIRS]
    )


def _read_common_tokens(lab: Lab) -> list[TokenStreams]:
    """Return the words and code that students may share without copying from each other.

    They are those of the released notebook, of the solution notebook and of the lab's Python files,
    which contain the known mistakes.
    """
    definitions = "\n".join(path.read_text("utf-8") for path in sorted(lab.folder.glob("*.py")))
    return [
        tokenise_cells(release_for_grading(lab).cells),
        tokenise_cells(lab.read_solution().cells),
        tokenise_cells(
            [{"cell_type": "code", "source": definitions}],
            max_tokens=MAX_DEFINITION_TOKENS,
        ),
    ]


def _is_same_file(first: ComparedSubmission, second: ComparedSubmission) -> bool:
    """Return True if two submissions are the same file, and that file has an answer."""
    if first.is_empty or second.is_empty:
        return False
    return first.file_hash != "" and first.file_hash == second.file_hash


def _find_same_files(lab: Lab, submissions: Sequence[ComparedSubmission]) -> list[SimilarPair]:
    """Return pairs of students who submitted the same file.

    Of three or more students with the same file, neighbours in the list are paired. Files that few
    students have come first.
    """
    by_hash: dict[str, list[str]] = defaultdict(list)
    for submission in submissions:
        if submission.file_hash and not submission.is_empty:
            by_hash[submission.file_hash].append(submission.student)
    pairs = []
    for students in sorted(by_hash.values(), key=len):
        for pair in pairwise(students):
            pairs.append(SimilarPair(lab.name, pair, None, None, "", same_file=True))
    return pairs


def interleave_pairs_by_student(pairs: Sequence[SimilarPair]) -> list[SimilarPair]:
    """Sort pairs so that each student's first pair comes before any student's second pair.

    The list is cut later. In this order, one student with very many pairs does not push the pairs
    of other students out.
    """
    counts: Counter[str] = Counter()
    ranks = []
    for pair in pairs:
        ranks.append(max(counts[student] for student in pair.students))
        counts.update(pair.students)
    order = sorted(range(len(pairs)), key=ranks.__getitem__)
    return [pairs[i] for i in order]
