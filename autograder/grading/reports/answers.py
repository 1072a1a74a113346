"""A question marked across the class: one sheet of all answers to it, and the marks and comments taken back from it.

    answers/<lab>/<question>.html     for reading: what it is marked by, and the answers, those that are alike together
    answers/<lab>/<question>.csv      for marking, in any spreadsheet: the same answers, a row each

A row's key says whose answer it is, which answer was read, and which mark was there when the sheet was written. So a
sheet may be sorted and cut; several people may mark parts of it; and no mark is given for an answer that is not there
any more, or in place of one that somebody else gave meanwhile. A sheet is taken in whole or not at all.
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

from autograder.authoring.lab import Lab, lab_at
from autograder.cells import grade_id, id_of
from autograder.errors import Complaint, Usage, counted, encodable, listed, printable
from autograder.files import NotOrdinary, decoded, read_ordinary, write
from autograder.grading.intake.names import letters, shown
from autograder.grading.marking.sanitise import pictures_of
from autograder.grading.nbgrader.gradebook import Book, exists
from autograder.grading.register import evidence
from autograder.grading.register.classroom import Classroom
from autograder.grading.register.requests import Request
from autograder.grading.reports import shown as safely
from autograder.grading.reports.feedback import question_of
from autograder.grading.reports.marks import Mark, class_today, full_name
from autograder.grading.reports.pseudonyms import pseudonyms
from autograder.grading.reports.tables import harmless
from autograder.grading.run.limited import each
from autograder.results import Result

SECONDS = 30  # for one answer to be read and shown
COLUMNS = ("number", "student", "alike", "points", "of", "comment", "answer", "key")
MAX_SHEET = 50_000_000  # bytes
MAX_CELL = 30_000  # characters: spreadsheets take 32,767
MAX_COMMENT = 10_000
MAX_COMPARED = 2_000  # characters of an answer that are looked at for what is nearly the same
NEARLY = 0.6  # the part of the short passages of two answers that both have
PASSAGE = 5
MOST_TOLD = 12  # rows that a complaint names


class SheetError(Complaint):
    """A sheet cannot be taken in; the text says which rows, and why."""


class Given(NamedTuple):
    """What a person has given for an answer: points as a sheet writes them, and words; "" where there is nothing."""

    points: str = ""
    comment: str = ""


@dataclass(frozen=True)
class Answer:
    """One student's answer.

    Parameters
    ----------
    student : str
    name : str
        What the sheet calls them: a name, or a pseudonym.
    given : Given
    digest : str
        Of the answer that was read, as marking keeps it.
    source : str
    html : str
        The answer as a page shows it, cleaned.
    verdict : str
        Of an exercise; "" of a question that a person marks.
    requests : tuple of Request
        What its student asked of it.
    """

    student: str
    name: str
    given: Given
    digest: str
    source: str = ""
    html: str = ""
    verdict: str = ""
    requests: tuple[Request, ...] = ()


class Group(NamedTuple):
    """Answers that are nearly the same: its number, from 1, or 0 for an answer that no other is like; and those that
    are the same together, with their numbers in the sheet."""

    number: int
    same: Sequence[Sequence[tuple[int, Answer]]]


@dataclass
class Question:
    """A question, or an exercise, and all answers to it.

    Parameters
    ----------
    classroom : Classroom
    lab : Lab
    name : str
    points : float
        What it is worth today.
    answers : list of Answer
    blank : int
        How many wrote nothing: they have no points without anybody's reading them, and no row.
    """

    classroom: Classroom
    lab: Lab
    name: str
    points: float
    answers: list[Answer] = field(default_factory=list)
    blank: int = 0

    @property
    def page(self) -> Path:
        return self.classroom.root / "answers" / self.lab.name / f"{self.name}.html"

    @property
    def sheet(self) -> Path:
        return self.page.with_suffix(".csv")

    @property
    def waiting(self) -> int:
        """How many answers nobody has given points for."""
        return sum(not answer.given.points for answer in self.answers)

    def key(self, answer: Answer) -> str:
        """Whose answer, which answer, and what was given for it; in letters alone, which no spreadsheet works on."""
        return "-".join((self._code(answer.student), self._code(answer.digest), self.code_of(answer.given)))

    def code_of(self, given: Given) -> str:
        """What was given, as a key has it."""
        return self._code(given.points, _plain(given.comment))

    def _code(self, *parts: str) -> str:
        # With the class's secret: who has a sheet without names cannot try names.
        said = "\0".join((self.lab.name, self.name, *parts)).encode("utf-8", "replace")
        digest = hmac.new(self.classroom.salt.encode(), said, hashlib.sha256).hexdigest()
        return digest[:10].translate(str.maketrans("0123456789abcdef", "abcdefghijklmnop"))


def read_question(classroom: Classroom, lab: Lab, name: str, *, anonymous: bool = False) -> Question:
    """A question with what the gradebook has for each of its answers; the answers themselves are not read yet.

    Raises
    ------
    Usage
        If the lab has no such question.
    Complaint
        If nothing is marked yet, or the question is dropped.
    """
    if not exists(classroom.db):
        raise Complaint(
            "There is no gradebook yet, so there is nothing to mark by hand; run `autograder grade`."
        )
    marks = class_today(classroom, {lab.name: lab})
    points = marks.policy.points[lab.name]
    if name not in points:
        raise Usage(
            f"{lab.name} has no question {printable(name)!r}; marked by hand is {listed(lab.by_hand) or 'none'}, "
            f"and its exercises are {listed(lab.exercises)}."
        )
    if not points[name]:
        raise Complaint(f"{name} is dropped from {lab.name} (course.toml), so no mark for it counts.")
    found = evidence.stored(classroom)
    question = Question(classroom, lab, name, points[name])
    for person in marks.present:
        mark = marks.marks.get((person.student, lab.name))
        if mark is None or not classroom.notebook_path(person.student, lab.name).is_file():
            continue
        marked, given = found.get((person.student, lab.name)), _given(mark, name)
        if marked and name in marked.untouched and not any(given):
            question.blank += 1
            continue
        row = next((row for row in marked.rows if row.exercise == name), None) if marked else None
        digest = marked.answers.get(name, "") if marked else ""
        question.answers.append(
            Answer(
                person.student,
                full_name(person),
                given,
                digest,
                verdict=_verdict(lab, row),
                requests=marks.requests.get((person.student, lab.name), {}).get(name, ()),
            )
        )
    if anonymous:
        names = pseudonyms(marks.students, classroom.root)
        question.answers = [replace(answer, name=names[answer.student]) for answer in question.answers]
    return question


def _given(mark: Mark, name: str) -> Given:
    score = mark.scores.get(name) if name in mark.by_hand else None
    return Given(
        "" if score is None else _number(Decimal(repr(round(score, 6)))), mark.comments.get(name, "")
    )


def _number(points: Decimal) -> str:
    """Points as a sheet writes them.

    >>> _number(Decimal("2.50")), _number(Decimal("10"))
    ('2.5', '10')
    """
    text = format(points, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _plain(text: str) -> str:
    """What two forms of a comment have in common: spreadsheets change line ends, and add or take quotes."""
    return " ".join(printable(str(harmless(text))).replace("'", "").split())


def _verdict(lab: Lab, row: Result | None) -> str:
    if row is None or row.exercise not in lab.exercises:
        return ""
    return f"{row.verdict}: {row.misconception.replace('-', ' ')}" if row.misconception else str(row.verdict)


# The sheet


def write_sheet(question: Question, *, workers: int) -> Path | None:
    """Write the question's page and its sheet; gives where the old sheet is, if it held what only it has.

    Raises
    ------
    Complaint
        If nobody has answered.
    """
    if not question.answers:
        wrote = (
            f" ({counted(question.blank, 'hand-in')} left it as it was handed out)" if question.blank else ""
        )
        raise Complaint(f"There is no answer to {question.name} of {question.lab.name} to mark{wrote}.")
    question.answers = list(_with_answers(question, workers))
    groups = list(together(question.answers))
    kept = _put_aside(question)
    write(question.sheet, _csv(question, groups))
    write(question.page, _page(question, groups))
    return kept


def _put_aside(question: Question) -> Path | None:
    """Rename the sheet that is there, if it holds marks or comments that the gradebook does not have."""
    if not question.sheet.exists():
        return None
    with suppress(SheetError):
        if not merged(question, [question.sheet]):
            return None
    names = (question.sheet.with_name(f"{question.name}-earlier-{n}.csv") for n in count(1))
    return question.sheet.replace(next(path for path in names if not path.exists()))


def _with_answers(question: Question, workers: int) -> Iterator[Answer]:
    """The answers as they were handed in, each read within limits; plainer where it goes over them."""
    classroom, lab = question.classroom, question.lab.name
    asked = str(classroom.course.root), lab, question.name
    calls = [(*asked, str(classroom.notebook_path(one.student, lab))) for one in question.answers]
    texts = dict(each(read_answer, calls, workers=workers, seconds=SECONDS, plainer=True))
    for i, answer in enumerate(question.answers):
        if isinstance(text := texts[i], str):
            said = json.loads(text)
            yield replace(answer, source=said["source"], html=Markup(said["html"]))
        else:
            why = "(This answer takes too long to show. Read it in the formgrader.)"
            yield replace(answer, source=why, html=Markup("<p>{}</p>").format(why))


def read_answer(course: str, lab: str, name: str, notebook: str, plain: bool) -> str:
    """One answer out of an executed notebook, as JSON; in a worker, since it touches what a student wrote."""
    wanted = grade_id(name) if name in lab_at(course, lab).exercises else name
    cell = next(c for c in json.loads(Path(notebook).read_bytes())["cells"] if id_of(c) == wanted)
    show, source = safely.Showing(plain), str(cell.get("source", ""))
    if cell.get("cell_type") == "code":
        html = Markup("<pre>{}</pre>").format(show.code(source))
    else:
        html = show.prose(cell, source)
        if pictures := pictures_of(cell):
            known = hashlib.sha256(json.dumps(pictures, sort_keys=True).encode()).hexdigest()[:8]
            source += f"\n[{counted(len(pictures), 'picture')}, {known}: see the page]"
    return json.dumps({"source": source, "html": str(html)})


# What is alike


def together(answers: Sequence[Answer]) -> Iterator[Group]:
    """The answers in the order of the sheet: the largest groups first, in each those that are the same together.

    The same are those that differ in blanks alone, nearly the same those that share most short passages with the first
    of their group. Nothing in the order tells who is who.
    """
    same: dict[str, list[Answer]] = {}
    for answer in answers:
        same.setdefault(" ".join(answer.source.split()), []).append(answer)
    groups: list[list[str]] = []
    heads: list[set[str]] = []
    for text in sorted(same, key=lambda text: (-len(same[text]), text)):
        own = _passages(text)
        near = next((group for group, head in zip(groups, heads) if _near(head, own)), None)
        if near is None:
            groups.append(near := [])
            heads.append(own)
        near.append(text)
    number, group_number = count(1), count(1)
    for group in sorted(groups, key=lambda g: (-sum(len(same[text]) for text in g), g[0])):
        by_name = [sorted(same[text], key=lambda answer: answer.name) for text in group]
        alone = sum(map(len, by_name)) == 1
        numbered = [[(next(number), answer) for answer in of_text] for of_text in by_name]
        yield Group(0 if alone else next(group_number), numbered)


def _passages(text: str) -> set[str]:
    words = " ".join(re.findall(r"\w+", text[:MAX_COMPARED].casefold()))
    return {words[i : i + PASSAGE] for i in range(max(1, len(words) - PASSAGE + 1))}


def _near(one: set[str], other: set[str]) -> bool:
    small, large = sorted((len(one), len(other)))
    if small < NEARLY * large:
        return False
    shared = len(one & other)
    return shared >= NEARLY * (small + large - shared)


def _csv(question: Question, groups: Sequence[Group]) -> str:
    """The sheet: what it is marked by on top, an empty row, and a row for each answer."""
    scheme = question.lab.mark_schemes().get(question.name, "")
    top = f"{question.lab.name}, {question.name}: {question.points:g} points. {scheme}".strip()
    rows: list[Sequence] = [(_lines(top),), (), COLUMNS]
    for group in groups:
        for wording, same in enumerate(group.same):
            for place, (number, answer) in enumerate(same):
                how = "the same" if place else "nearly the same" if wording else "first"
                rows.append(
                    (
                        number,
                        harmless(answer.name),
                        f"{group.number}: {how}" if group.number else "",
                        answer.given.points,
                        f"{question.points:g}",
                        harmless(answer.given.comment),
                        _lines(answer.source[:MAX_CELL]),
                        question.key(answer),
                    )
                )
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    # With the mark by which spreadsheets know UTF-8.
    return "\ufeff" + encodable(text.getvalue())


def _lines(text: str) -> str:
    """Text of several lines, none of which a spreadsheet takes for a formula, whatever it makes of a line's end."""
    return "\n".join(str(harmless(line)) for line in text.splitlines())


def _page(question: Question, groups: Sequence[Group]) -> str:
    scheme = question.lab.mark_schemes().get(question.name, "")
    return safely.page(
        "answers.html",
        question=question,
        asked=question_of(question.lab, question.name),
        scheme=safely.markdown(scheme) if scheme else "",
        groups=groups,
    )


# The way back


def take_in(classroom: Classroom, lab: Lab, name: str, sheets: Sequence[Path]) -> str:
    """Write the marks and comments of these sheets into the gradebook, all or none; gives what was done, in a sentence.

    Raises
    ------
    SheetError
        If any row cannot be taken in; then none is.
    """
    question = read_question(classroom, lab, name)
    changes = merged(question, sheets)
    before = {answer.student: answer.given for answer in question.answers}
    with Book(classroom) as book:
        book.give(lab, name, changes)
    after = read_question(classroom, lab, name)  # with what partners share
    points = sum(given.points != before[student].points for student, given in changes.items())
    comments = sum(given.comment != before[student].comment for student, given in changes.items())
    waits = f"{counted(after.waiting, 'answer')} still {'waits' if after.waiting == 1 else 'wait'}"
    return f"{counted(points, 'mark')} and {counted(comments, 'comment')} taken in; {waits}."


def merged(question: Question, sheets: Sequence[Path]) -> dict[str, Given]:
    """What these sheets change, by student.

    An empty cell says nothing, and neither does a row that is as it was written.

    Raises
    ------
    SheetError
        With every row that cannot be taken in.
    """
    answers = {question.key(answer).split("-")[0]: answer for answer in question.answers}
    names = _names(question)
    now = {answer.student: answer.given for answer in question.answers}
    said: dict[str, str] = {}
    complaints: list[str] = []

    def take(row: _Row) -> None:
        """Note whom a row gives what. Raises ValueError, with a sentence, for what cannot be."""
        who, read_then, given_then = (row.key.strip("'").casefold().split("-") + ["", "", ""])[:3]
        if not who:
            raise ValueError("it has points or a comment, but no key, so it is nobody's. Take it out.")
        points, comment = _points(row.points, question.points), _comment(row.comment)
        if question.code_of(Given(points, comment)) == given_then:
            return  # as it was written
        answer = answers.get(who)
        if answer is None:
            raise ValueError(
                f"its key belongs to no answer to {question.name} of {question.lab.name} in this class (another question's "
                "or class's sheet, a changed key, or somebody who has left). Take it out, or write the sheet anew."
            )
        if row.student and _called(row.student) not in {_called(name) for name in names[answer.student]}:
            raise ValueError(
                f"the key is {answer.name}'s, but the row says {shown(row.student, 60)!r}; were some columns sorted without "
                "the others? Sort whole rows."
            )
        current = now[answer.student]
        same = _plain(comment) in ("", _plain(current.comment))
        wanted = Given(points or current.points, current.comment if same else comment)
        if wanted == current:
            return
        _, read_now, given_now = question.key(replace(answer, given=current)).split("-")
        if read_then != read_now:
            raise ValueError(
                f"{answer.name} has handed in another answer since this sheet was written. Take the row out, and read the "
                "new answer in a new sheet."
            )
        if given_then != given_now:
            other = said.get(answer.student)
            where = f"in {other}" if other else "in the gradebook since this sheet was written"
            words = "other words" if current.comment else ""
            given = listed(part for part in (current.points and f"{current.points} points", words) if part)
            raise ValueError(
                f"{answer.name} was given {given or 'nothing'} {where}. Settle which holds, and empty the cells of the "
                "other."
            )
        now[answer.student], said[answer.student] = wanted, row.place

    for path in sheets:
        for row in _rows(path):
            try:
                take(row)
            except ValueError as why:
                complaints.append(f"{row.place}: {why}")
    if complaints:
        rest = len(complaints) - MOST_TOLD
        more = [f"… and {counted(rest, 'row')} more."] if rest > 0 else []
        raise SheetError("\n".join(["Nothing was taken in.", *complaints[:MOST_TOLD], *more]))
    return {answer.student: now[answer.student] for answer in question.answers if answer.student in said}


def _names(question: Question) -> dict[str, set[str]]:
    """What a sheet may call each student."""
    names = {answer.student: {answer.name, answer.student} for answer in question.answers}
    if (question.classroom.root / "pseudonyms.csv").exists():
        for student, name in pseudonyms(names, question.classroom.root).items():
            names[student].add(name)
    return names


@dataclass(frozen=True)
class _Row:
    """A row of a sheet, and where it stands: "marks.csv, row 12"."""

    place: str
    student: str
    points: str
    comment: str
    key: str


def _rows(path: Path) -> Iterator[_Row]:
    """The rows of a sheet that say something, whatever a spreadsheet has made of it.

    Raises
    ------
    SheetError
        If it is no such sheet.
    """
    name = shown(path.name)
    try:
        data = read_ordinary(path, MAX_SHEET + 1)
    except NotOrdinary:
        raise SheetError(f"{path} is not an ordinary file; name the sheet itself.") from None
    except OSError as error:
        raise SheetError(f"{path} cannot be read: {error.strerror}.") from None
    if data.startswith((b"PK\x03\x04", b"\xd0\xcf\x11\xe0")):
        raise SheetError(f"{name} is a spreadsheet program's own file. Save it as CSV, and take that in.")
    if len(data) > MAX_SHEET:
        raise SheetError(f"{name} is larger than {MAX_SHEET // 1_000_000} MB, which no sheet of ours is.")
    text = decoded(data)[0].replace("\r\n", "\n").replace("\r", "\n")
    for delimiter in ",;\t":
        lines: list[list[str]] = []
        with suppress(csv.Error):  # as where it is another one's
            lines += csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        lines = [[cell.strip() for cell in line] for line in lines]
        heads = ([cell.casefold() for cell in line] for line in lines)
        found = next(((i, line) for i, line in enumerate(heads) if {"key", "points"} <= set(line)), None)
        if found:
            break
    else:
        raise SheetError(
            f"{name} has no row with the headings {listed(COLUMNS)}. Take in the sheet that `autograder answers` "
            "wrote, with all its columns, saved as CSV."
        )
    head, columns = found
    if twice := sorted({cell for cell in columns if cell in COLUMNS and columns.count(cell) > 1}):
        raise SheetError(f"{name} has the column {twice[0]!r} twice. Take one of them out.")
    places = {cell: i for i, cell in enumerate(columns)}
    for number, line in enumerate(lines, start=1):
        cells = {
            column: line[places[column]] if column in places and places[column] < len(line) else ""
            for column in ("student", "points", "comment", "key")
        }
        if number != head + 1 and (cells["points"] or cells["comment"]):
            yield _Row(f"{name}, row {number}", **cells)


def _called(name: str) -> str:
    """A name as it can be compared: a spreadsheet drops quotes and a number's leading zeros."""
    return letters(name).lstrip("0")


def _points(cell: str, most: float) -> str:
    text = cell.strip("'\u00a0 ")
    if not text:
        return ""
    if not re.fullmatch(r"\d{1,9}(?:[.,]\d{0,9})?|[.,]\d{1,9}", text):
        raise ValueError(f"the points are {shown(cell, 40)!r}, which is no number such as 2 or 2.5.")
    points = Decimal(text.replace(",", "."))
    if points > Decimal(repr(most)):
        raise ValueError(f"the points are {_number(points)}, but the question is worth {most:g}.")
    return _number(points)


def _comment(cell: str) -> str:
    text = printable(cell)
    if len(text) > MAX_COMMENT:
        raise ValueError(f"the comment has {len(text):,} characters; at most {MAX_COMMENT:,} can be kept.")
    # What kept a spreadsheet from working on it is no part of it.
    return text[1:] if harmless(text[1:]) == text else text
