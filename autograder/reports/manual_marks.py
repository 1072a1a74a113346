"""Grade one question by hand for the whole class: write a CSV sheet, and read it back with marks.

    answers/<lab>/<question>.html     to read: marking scheme and answers, similar ones together
    answers/<lab>/<question>.csv      to grade: the same answers, a row each

A row's key identifies the student, the answer that was read, and the mark when the sheet was
written. So a sheet may be sorted and cut, and several people may grade parts of it; and no mark
is imported for an answer that has been replaced, or over a mark that somebody else has given
meanwhile. A sheet is imported completely or not at all.
"""

import csv
import hashlib
import hmac
import io
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from autograder.authoring.lab import Lab, read_lab_in
from autograder.core.errors import AutograderError, UsageError
from autograder.core.files import NotRegularFile, decode_text, read_regular_file, write_file
from autograder.core.notebook_cells import get_grade_id, make_grade_id
from autograder.core.results import Result
from autograder.core.rounding import format_points
from autograder.core.text_format import format_count, join_words, make_encodable, make_printable
from autograder.gradebook import result_store
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.gradebook_writer import GradebookWriter
from autograder.gradebook.graded_submission import GradedSubmission
from autograder.gradebook.nbgrader_db import gradebook_exists
from autograder.gradebook.regrade_requests import RegradeRequest
from autograder.grading.sanitise import extract_pictures
from autograder.grading.worker import run_calls_in_workers
from autograder.intake.names import escape_unprintable, normalise_name
from autograder.reports import safe_html
from autograder.reports.feedback_summary import make_released_notebook
from autograder.reports.marks import ClassMarks, Mark, refresh_and_read_marks
from autograder.reports.platform_csv import escape_formula
from autograder.reports.pseudonyms import assign_pseudonyms
from autograder.reports.student_page import render_question_text

COLUMNS = ("number", "student", "alike", "points", "of", "comment", "answer", "key")
MAX_ANSWER_SECONDS = 30  # to read and render one answer
MAX_SHEET_BYTES = 50_000_000
MAX_CELL_CHARACTERS = 30_000  # spreadsheet programs accept 32,767
MAX_COMMENT_CHARACTERS = 10_000
MAX_COMPARED_CHARACTERS = 2_000  # of an answer, in the search for similar ones
MAX_REPORTED_ROWS = 12
MIN_SIMILARITY = 0.6  # share of the short passages that similar answers have in common
PASSAGE_CHARACTERS = 5


class SheetError(AutograderError):
    """Error for a sheet of marks that cannot be read. The text names the rows and says why."""


class ManualMark(NamedTuple):
    """Manual mark of an answer: points as text and a comment; "" if nobody has given them."""

    points: str = ""
    comment: str = ""


@dataclass(frozen=True)
class StudentAnswer:
    """One student's answer to a question, with its mark and the student's regrade requests.

    Parameters
    ----------
    name : str
        Full name, or a pseudonym.
    digest : str
        Hash of the answer, as the stored results have it.
    source : str
        The answer as it was submitted.
    html : str
        The answer as safe HTML.
    verdict : str
        Verdict in words; "" for a question.
    requests : tuple of RegradeRequest
    """

    student: str
    name: str
    mark: ManualMark
    digest: str
    source: str = ""
    html: str = ""
    verdict: str = ""
    requests: tuple[RegradeRequest, ...] = ()


class SimilarAnswers(NamedTuple):
    """Similar answers to a question, in adjacent rows of the marking sheet.

    Parameters
    ----------
    number : int
        Number of the group, from 1; 0 if the group is a single answer.
    wordings : sequence of sequence
        Lists of equal answers, one list for each wording. Each answer comes with its number in the
        sheet.
    """

    number: int
    wordings: Sequence[Sequence[tuple[int, StudentAnswer]]]


@dataclass
class QuestionAnswers:
    """One question of a lab, with the answers and marks of all students.

    Parameters
    ----------
    points : float
        Points of the question today.
    blank_count : int
        Number of students who wrote nothing: they have no row, and no points.
    """

    classroom: Classroom
    lab: Lab
    name: str
    points: float
    answers: list[StudentAnswer] = field(default_factory=list)
    blank_count: int = 0

    @property
    def page(self) -> Path:
        """Path of the HTML page on which the answers can be read."""
        return self.classroom.root / "answers" / self.lab.name / f"{self.name}.html"

    @property
    def sheet(self) -> Path:
        """Path of the CSV sheet into which points and comments are written."""
        return self.page.with_suffix(".csv")

    @property
    def marks(self) -> dict[str, ManualMark]:
        """Manual marks of the question, by student."""
        return {answer.student: answer.mark for answer in self.answers}

    @property
    def ungraded_count(self) -> int:
        """Number of answers without points."""
        return sum(not answer.mark.points for answer in self.answers)

    def make_row_key(self, answer: StudentAnswer) -> str:
        """Return the key of an answer's row in the sheet, made from student, answer and old mark.

        The hashes consist of letters only, since spreadsheet programs change some numbers.
        """
        hashes = (
            self._hash(answer.student),
            self._hash(answer.digest),
            self.hash_mark(answer.mark),
        )
        return "-".join(hashes)

    def hash_mark(self, mark: ManualMark) -> str:
        """Return the last part of a row's key, which is a hash of the mark."""
        return self._hash(mark.points, _normalise_comment(mark.comment))

    def _hash(self, *parts: str) -> str:
        # In an anonymous sheet, the key must not reveal the student. So hash the class's secret,
        # too: without it, anybody could find a student by hashing all students' names.
        message = "\0".join((self.lab.name, self.name, *parts)).encode("utf-8", "replace")
        digest = hmac.new(self.classroom.salt.encode(), message, hashlib.sha256).hexdigest()
        return digest[:10].translate(str.maketrans("0123456789abcdef", "abcdefghijklmnop"))


def read_question_marks(
    classroom: Classroom, lab: Lab, name: str, *, anonymous: bool = False
) -> QuestionAnswers:
    """Return a question with each student's mark from the gradebook, but not the answers' texts.

    Raises
    ------
    UsageError
        If the lab has no such question.
    AutograderError
        If nothing is graded yet, or the question is dropped.
    """
    if not gradebook_exists(classroom.db):
        raise AutograderError(
            "There is no gradebook yet, so there is nothing to grade manually; run `autograder grade`."
        )
    marks = refresh_and_read_marks(classroom, {lab.name: lab})
    points = marks.policy.points[lab.name]
    if name not in points:
        raise UsageError(
            f"{lab.name} has no question {make_printable(name)!r}; its manually graded questions "
            f"are {join_words(lab.manual_questions) or 'none'}, and its exercises are "
            f"{join_words(lab.exercises)}."
        )
    if not points[name]:
        message = f"{name} is dropped from {lab.name} (course.toml), so no mark for it counts."
        raise AutograderError(message)
    question = QuestionAnswers(classroom, lab, name, points[name])
    stored_results = result_store.load_all_results(classroom)
    for person in marks.enrolled:
        student = person.student
        has_notebook = classroom.notebook_path(student, lab.name).is_file()
        if not has_notebook or (student, lab.name) not in marks.marks:
            continue
        submission = stored_results.get((student, lab.name))
        answer = _make_student_answer(lab, name, student, marks, submission)
        if submission and name in submission.untouched and not any(answer.mark):
            question.blank_count += 1
        else:
            question.answers.append(answer)
    if anonymous:
        names = assign_pseudonyms(marks.students, classroom.root)
        answers = question.answers
        question.answers = [replace(answer, name=names[answer.student]) for answer in answers]
    return question


def _make_student_answer(
    lab: Lab, name: str, student: str, marks: ClassMarks, submission: GradedSubmission | None
) -> StudentAnswer:
    result, digest = None, ""
    if submission:
        result = next((row for row in submission.results if row.exercise == name), None)
        digest = submission.answers.get(name, "")
    return StudentAnswer(
        student,
        marks.distinct_name(student),
        _manual_mark(marks.marks[student, lab.name], name),
        digest,
        verdict=_describe_verdict(lab, result),
        requests=marks.regrade_requests.get((student, lab.name), {}).get(name, ()),
    )


def _manual_mark(mark: Mark, name: str) -> ManualMark:
    points, score = "", mark.scores.get(name)
    if name in mark.manually_graded and score is not None:
        score -= mark.extra_credit.get(name, 0.0)
        points = format_points(Decimal(repr(round(score, 6))))
    return ManualMark(points, mark.comments.get(name, ""))


def _normalise_comment(text: str) -> str:
    """Return a comment without line ends and quotes, which spreadsheet programs change."""
    return " ".join(make_printable(str(escape_formula(text))).replace("'", "").split())


def _describe_verdict(lab: Lab, result: Result | None) -> str:
    if result is None or result.exercise not in lab.exercises:
        return ""
    if result.misconception:
        return f"{result.verdict}: {result.misconception.replace('-', ' ')}"
    return str(result.verdict)


# Functions that write the CSV sheet and the page with the answers


def write_answers_page_and_marking_sheet(question: QuestionAnswers, *, workers: int) -> Path | None:
    """Write the HTML page with the answers to a question, and the CSV sheet for their marks.

    Returns
    -------
    Path or None
        New path of an old sheet that holds marks or comments which the gradebook does not have.

    Raises
    ------
    AutograderError
        If there is no answer.
    """
    if not question.answers:
        blank = ""
        if question.blank_count:
            submissions = format_count(question.blank_count, "submission")
            blank = f" ({submissions} left it as it was handed out)"
        message = f"There is no answer to {question.name} of {question.lab.name} to mark{blank}."
        raise AutograderError(message)
    question.answers = list(_answers_with_texts(question, workers))
    groups = list(group_answers(question.answers))
    renamed_sheet = _rename_sheet_with_unimported_marks(question)
    write_file(question.sheet, _format_marking_sheet(question, groups))
    write_file(question.page, _render_answers_page(question, groups))
    return renamed_sheet


def _rename_sheet_with_unimported_marks(question: QuestionAnswers) -> Path | None:
    """Rename an existing sheet if it has marks or comments that are not in the gradebook yet."""
    if not question.sheet.exists():
        return None
    with suppress(SheetError):
        if not merge_sheets(question, [question.sheet]):
            return None
    for number in count(1):
        path = question.sheet.with_name(f"{question.name}-earlier-{number}.csv")
        if not path.exists():
            return question.sheet.replace(path)
    raise AssertionError("count() does not end")


def _answers_with_texts(question: QuestionAnswers, workers: int) -> Iterator[StudentAnswer]:
    """Yield the answers with their texts, read by worker processes with a time limit."""
    classroom, lab = question.classroom, question.lab.name
    calls = []
    for answer in question.answers:
        notebook = str(classroom.notebook_path(answer.student, lab))
        calls.append((str(classroom.course.root), lab, question.name, notebook))
    limits = {"workers": workers, "seconds": MAX_ANSWER_SECONDS}
    texts = dict(
        run_calls_in_workers(read_answer_as_json, calls, retry_with_simpler_result=True, **limits)
    )
    for i, answer in enumerate(question.answers):
        text = texts[i]
        if isinstance(text, str):
            fields = json.loads(text)
            yield replace(answer, source=fields["source"], html=Markup(fields["html"]))
        else:
            message = "(This answer takes too long to show. Read it in the formgrader.)"
            yield replace(answer, source=message, html=Markup("<p>{}</p>").format(message))


def read_answer_as_json(
    course_path: str, lab: str, name: str, notebook_path: str, without_markup: bool
) -> str:
    """Return source and HTML of one student's answer as JSON; called in a worker process.

    Parameters
    ----------
    course_path, notebook_path : str
        Paths of the course's folder and of the graded notebook.
    """
    answer_id = name
    if name in read_lab_in(course_path, lab).exercises:
        answer_id = make_grade_id(name)
    cells = json.loads(Path(notebook_path).read_bytes())["cells"]
    cell = next(cell for cell in cells if get_grade_id(cell) == answer_id)
    renderer, source = safe_html.StudentTextRenderer(without_markup), str(cell.get("source", ""))
    if cell.get("cell_type") == "code":
        html = Markup("<pre>{}</pre>").format(renderer.render_code(source))
    else:
        html = renderer.render_prose(cell, source)
        pictures = extract_pictures(cell)
        if pictures:
            digest = hashlib.sha256(json.dumps(pictures, sort_keys=True).encode()).hexdigest()[:8]
            source += f"\n[{format_count(len(pictures), 'picture')}, {digest}: see the page]"
    return json.dumps({"source": source, "html": str(html)})


# Functions that find similar answers


def group_answers(answers: Sequence[StudentAnswer]) -> Iterator[SimilarAnswers]:
    """Yield groups of similar answers, the largest group first.

    Equal answers differ in white space only. An answer is similar to a group if it shares most of
    its short passages with the group's first answer. The order does not depend on who wrote the
    answers.
    """
    by_text: dict[str, list[StudentAnswer]] = {}
    for answer in answers:
        by_text.setdefault(" ".join(answer.source.split()), []).append(answer)
    groups: list[list[str]] = []
    first_passages: list[set[str]] = []
    for text in sorted(by_text, key=lambda text: (-len(by_text[text]), text)):
        passages = _make_character_ngrams(text)
        for group, group_passages in zip(groups, first_passages, strict=True):
            if _are_similar(group_passages, passages):
                group.append(text)
                break
        else:
            groups.append([text])
            first_passages.append(passages)
    number, group_number = count(1), count(1)
    for group in sorted(groups, key=lambda texts: (-sum(len(by_text[t]) for t in texts), texts[0])):
        wordings = []
        for text in group:
            equal_answers = sorted(by_text[text], key=lambda answer: answer.name)
            wordings.append([(next(number), answer) for answer in equal_answers])
        is_single = sum(map(len, wordings)) == 1
        yield SimilarAnswers(0 if is_single else next(group_number), wordings)


def _make_character_ngrams(text: str) -> set[str]:
    """Return all runs of five characters in a text, which show how similar two texts are."""
    words = " ".join(re.findall(r"\w+", text[:MAX_COMPARED_CHARACTERS].casefold()))
    starts = range(max(1, len(words) - PASSAGE_CHARACTERS + 1))
    return {words[start : start + PASSAGE_CHARACTERS] for start in starts}


def _are_similar(passages_1: set[str], passages_2: set[str]) -> bool:
    small, large = sorted((len(passages_1), len(passages_2)))
    if small < MIN_SIMILARITY * large:
        return False
    common = len(passages_1 & passages_2)
    return common >= MIN_SIMILARITY * (small + large - common)


def _format_marking_sheet(question: QuestionAnswers, groups: Sequence[SimilarAnswers]) -> str:
    """Return the CSV sheet: the marking scheme, an empty row, and a row for each answer."""
    scheme = question.lab.mark_schemes().get(question.name, "")
    top = f"{question.lab.name}, {question.name}: {format_points(question.points)} points. {scheme}".strip()
    rows: list[Sequence] = [(_escape_formula_in_each_line(top),), (), COLUMNS]
    for group in groups:
        for wording_index, equal_answers in enumerate(group.wordings):
            for answer_index, (number, answer) in enumerate(equal_answers):
                similarity = _similarity_column_text(group.number, wording_index, answer_index)
                rows.append(_make_sheet_row(question, number, similarity, answer))
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    # Begin with a byte order mark: it tells spreadsheet programs that the text is UTF-8.
    return "\ufeff" + make_encodable(text.getvalue())


def _similarity_column_text(group_number: int, wording_index: int, answer_index: int) -> str:
    """Return a text that says how similar an answer is to its group, for the column "alike".

    A group of similar answers has several wordings, and equal answers have the same wording. The
    indices count the wordings of the group and the answers of one wording, from 0.
    """
    if not group_number:
        return ""
    if answer_index:
        return f"{group_number}: the same"
    if wording_index:
        return f"{group_number}: nearly the same"
    return f"{group_number}: first"


def _make_sheet_row(
    question: QuestionAnswers,
    number: int,
    similarity: str,
    answer: StudentAnswer,
) -> Sequence:
    return (
        number,
        escape_formula(answer.name),
        similarity,
        answer.mark.points,
        format_points(question.points),
        escape_formula(answer.mark.comment),
        _escape_formula_in_each_line(answer.source[:MAX_CELL_CHARACTERS]),
        question.make_row_key(answer),
    )


def _escape_formula_in_each_line(text: str) -> str:
    """Escape each line like a cell: some spreadsheet programs start a new cell at a line break."""
    return "\n".join(str(escape_formula(line)) for line in text.splitlines())


def _render_answers_page(question: QuestionAnswers, groups: Sequence[SimilarAnswers]) -> str:
    scheme = question.lab.mark_schemes().get(question.name, "")
    return safe_html.render_page(
        "answers.html",
        question=question,
        question_html=render_question_text(make_released_notebook(question.lab), question.name),
        scheme=safe_html.render_lab_markdown(scheme) if scheme else "",
        groups=groups,
    )


# Functions that read sheets with marks back


def import_sheets(classroom: Classroom, lab: Lab, name: str, sheets: Sequence[Path]) -> str:
    """Write the marks and comments in some sheets into the gradebook, all of them or none.

    Returns
    -------
    str
        Sentence with the counts.

    Raises
    ------
    SheetError
        If a row cannot be imported; then nothing is.
    """
    question = read_question_marks(classroom, lab, name)
    new_marks = merge_sheets(question, sheets)
    old_marks = question.marks
    with GradebookWriter(classroom) as gradebook:
        gradebook.record_marks_of_question(lab, name, new_marks)
    # Group members share a mark, so writing one member's mark has changed the others' marks. Read
    # all marks again.
    ungraded_count = read_question_marks(classroom, lab, name).ungraded_count
    point_count = comment_count = 0
    for student, mark in new_marks.items():
        point_count += mark.points != old_marks[student].points
        comment_count += mark.comment != old_marks[student].comment
    points, comments = format_count(point_count, "mark"), format_count(comment_count, "comment")
    verb = "awaits" if ungraded_count == 1 else "await"
    return (
        f"{points} and {comments} taken in; "
        f"{format_count(ungraded_count, 'answer')} still {verb} manual grading."
    )


def merge_sheets(question: QuestionAnswers, sheets: Sequence[Path]) -> dict[str, ManualMark]:
    """Return the new or changed marks that some filled-in sheets contain, by student.

    An empty table cell changes nothing, and neither does a row that nobody has edited.

    Raises
    ------
    SheetError
        With all rows that cannot be imported.
    """
    merge = _SheetMerge(question)
    errors = []
    for path in sheets:
        for row in _read_filled_in_rows(path):
            try:
                merge.apply_row(row)
            except ValueError as error:
                errors.append(f"{row.place}: {error}")
    if errors:
        lines = ["Nothing was taken in.", *errors[:MAX_REPORTED_ROWS]]
        omitted_count = len(errors) - MAX_REPORTED_ROWS
        if omitted_count > 0:
            lines.append(f"… and {format_count(omitted_count, 'row')} more.")
        raise SheetError("\n".join(lines))
    return merge.new_marks()


@dataclass(frozen=True)
class _SheetRow:
    """Row of a sheet; `place` is its name in messages, such as "marks.csv, row 12"."""

    place: str
    student: str
    points: str
    comment: str
    key: str


class _SheetMerge:
    """Combiner of the marks in several sheets with those in the gradebook."""

    def __init__(self, question: QuestionAnswers):
        self.question = question
        self.answer_by_key: dict[str, StudentAnswer] = {}
        for answer in question.answers:
            student_key = question.make_row_key(answer).split("-")[0]
            self.answer_by_key[student_key] = answer
        self.names = _list_aliases_by_student(question)
        self.current_marks = question.marks
        self.places: dict[str, str] = {}  # student -> row that gave the new mark

    def new_marks(self) -> dict[str, ManualMark]:
        """Return the marks that differ from those in the gradebook, by student."""
        marks = {}
        for answer in self.question.answers:
            if answer.student in self.places:
                marks[answer.student] = self.current_marks[answer.student]
        return marks

    def apply_row(self, row: _SheetRow) -> None:
        """Take over the mark in one row of a sheet, unless the mark was changed elsewhere.

        Raises
        ------
        ValueError
            With a sentence, if the row cannot be imported.
        """
        question = self.question
        student_key, digest_key, mark_key = _split_key(row.key)
        if not student_key:
            message = "it has points or a comment, but no key, so it is nobody's. Take it out."
            raise ValueError(message)
        points, comment = _parse_points(row.points, question.points), _parse_comment(row.comment)
        if question.hash_mark(ManualMark(points, comment)) == mark_key:
            return  # nobody has edited the row
        answer = self._find_answer(student_key, row.student)
        mark = self.current_marks[answer.student]
        if _normalise_comment(comment) in ("", _normalise_comment(mark.comment)):
            comment = mark.comment
        new_mark = ManualMark(points or mark.points, comment)
        if new_mark == mark:
            return
        current_key = question.make_row_key(replace(answer, mark=mark))
        _, current_digest_key, current_mark_key = current_key.split("-")
        if digest_key != current_digest_key:
            raise ValueError(
                f"{answer.name} has submitted another answer since this sheet was written. "
                "Take the row out, and read the new answer in a new sheet."
            )
        if mark_key != current_mark_key:
            raise ValueError(self._describe_conflict(answer, mark))
        self.current_marks[answer.student] = new_mark
        self.places[answer.student] = row.place

    def _find_answer(self, student_key: str, name: str) -> StudentAnswer:
        """Return the answer to which a row's key belongs; raise ValueError if the name differs."""
        answer = self.answer_by_key.get(student_key)
        if answer is None:
            raise ValueError(
                f"its key belongs to no answer to {self.question.name} of {self.question.lab.name} "
                "in this class (another question's or class's sheet, a changed key, or somebody "
                "who has left). Take it out, or write the sheet anew."
            )
        names = {_comparable_name(known_name) for known_name in self.names[answer.student]}
        if name and _comparable_name(name) not in names:
            raise ValueError(
                f"the key is {answer.name}'s, but the row says {escape_unprintable(name, 60)!r}; "
                "were some columns sorted without the others? Sort whole rows."
            )
        return answer

    def _describe_conflict(self, answer: StudentAnswer, mark: ManualMark) -> str:
        """Return a sentence about a mark that was changed elsewhere after the sheet was written."""
        place = "in the gradebook since this sheet was written"
        if answer.student in self.places:
            place = f"in {self.places[answer.student]}"
        parts = []
        if mark.points:
            parts.append(format_count(float(mark.points), "point"))
        if mark.comment:
            parts.append("other words")
        return (
            f"{answer.name} was given {join_words(parts) or 'nothing'} {place}. "
            "Settle which holds, and empty the cells of the other."
        )


def _split_key(key: str) -> tuple[str, str, str]:
    """Split a row's key into the hashes of student, answer and mark; a missing one is ""."""
    parts = [*key.strip("'").casefold().split("-"), "", "", ""]
    return parts[0], parts[1], parts[2]


def _list_aliases_by_student(question: QuestionAnswers) -> dict[str, set[str]]:
    """Return, for each student, the names that a marks sheet may use: name, folder, pseudonym."""
    names: dict[str, set[str]] = {}
    for answer in question.answers:
        names[answer.student] = {answer.name, answer.student}
    if (question.classroom.root / "pseudonyms.csv").exists():
        for student, pseudonym in assign_pseudonyms(names, question.classroom.root).items():
            names[student].add(pseudonym)
    return names


def _read_filled_in_rows(path: Path) -> Iterator[_SheetRow]:
    """Yield the rows of a CSV file that have points or a comment, with any column separator.

    Raises
    ------
    SheetError
        If the file is no such sheet.
    """
    name = escape_unprintable(path.name)
    lines, heading_index = _parse_rows_and_find_headings(_read_sheet_text(path), name)
    headings = [cell.casefold() for cell in lines[heading_index]]
    for heading in sorted(COLUMNS):
        if headings.count(heading) > 1:
            raise SheetError(f"{name} has the column {heading!r} twice. Take one of them out.")
    positions = {cell: i for i, cell in enumerate(headings)}
    for index, line in enumerate(lines):
        cells = dict.fromkeys(("student", "points", "comment", "key"), "")
        for column in cells:
            position = positions.get(column, len(line))
            if position < len(line):
                cells[column] = line[position]
        if index != heading_index and (cells["points"] or cells["comment"]):
            yield _SheetRow(f"{name}, row {index + 1}", **cells)


def _read_sheet_text(path: Path) -> str:
    name = escape_unprintable(path.name)
    try:
        data = read_regular_file(path, MAX_SHEET_BYTES + 1)
    except NotRegularFile:
        raise SheetError(f"{path} is not an ordinary file; name the sheet itself.") from None
    except OSError as error:
        raise SheetError(f"{path} cannot be read: {error.strerror}.") from None
    if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        message = f"{name} is a spreadsheet program's own file. Save it as CSV, and take that in."
        raise SheetError(message)
    if len(data) > MAX_SHEET_BYTES:
        raise SheetError(
            f"{name} is larger than {MAX_SHEET_BYTES // 1_000_000} MB, which no sheet of ours is."
        )
    return decode_text(data)[0].replace("\r\n", "\n").replace("\r", "\n")


def _parse_rows_and_find_headings(text: str, name: str) -> tuple[list[list[str]], int]:
    """Return the table cells of a sheet, and the index of the row with the column headings.

    The separator may be a comma, a semicolon or a tab.
    """
    for separator in ",;\t":
        lines: list[list[str]] = []
        with suppress(csv.Error):  # for example, if the separator is wrong
            for line in csv.reader(io.StringIO(text, newline=""), delimiter=separator):
                lines.append([cell.strip() for cell in line])
        for index, line in enumerate(lines):
            if {"key", "points"} <= {cell.casefold() for cell in line}:
                return lines, index
    raise SheetError(
        f"{name} has no row with the headings {join_words(COLUMNS)}. "
        "Take in the sheet that `autograder answers` wrote, with all its columns, saved as CSV."
    )


def _comparable_name(name: str) -> str:
    """Return a name as spreadsheet programs may leave it: without quotes and leading zeros."""
    return normalise_name(name).lstrip("0")


def _parse_points(cell: str, max_points: float) -> str:
    """Return the points in a table cell as text; "" for an empty cell.

    Raises ValueError, with a sentence for the instructor, if the points are not valid.
    """
    text = cell.strip("'\u00a0 ")
    if not text:
        return ""
    if not re.fullmatch(r"\d{1,9}(?:[.,]\d{0,9})?|[.,]\d{1,9}", text):
        raise ValueError(
            f"the points are {escape_unprintable(cell, 40)!r}, which is no number such as 2 or 2.5."
        )
    points = Decimal(text.replace(",", "."))
    if points > Decimal(repr(max_points)):
        raise ValueError(
            f"the points are {format_points(points)}, but the question is worth {format_points(max_points)}."
        )
    return format_points(points)


def _parse_comment(cell: str) -> str:
    """Return the comment in a table cell. Raises ValueError with a sentence if it is too long."""
    text = make_printable(cell)
    if len(text) > MAX_COMMENT_CHARACTERS:
        raise ValueError(
            f"the comment has {len(text):,} characters; at most {MAX_COMMENT_CHARACTERS:,} can be kept."
        )
    # Remove the quote that `escape_formula` put before a comment that looks like a formula.
    return text[1:] if escape_formula(text[1:]) == text else text
