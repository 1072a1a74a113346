"""The class in one page: how the labs went, what was misunderstood, and who to talk to.

The page needs no network, and no script to be read: a small one of ours sorts and searches the students' table.
What stands in it comes from the results of marking; the marks come from the gradebook, so that marks by hand and
late penalties count.
"""

import re
import shutil
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from autograder.authoring.lab import Lab, read_labs
from autograder.errors import Complaint, counted, encodable
from autograder.files import write
from autograder.grading.intake import Person
from autograder.grading.register import evidence
from autograder.grading.register.classroom import Classroom
from autograder.grading.register.policy import Policy
from autograder.grading.register.roll import Roll, alphabetical
from autograder.grading.reports.figures import (
    FEWEST_FOR_DISCRIMINATION,
    TALK,
    HandIn,
    Spread,
    is_blank,
    lab_figures,
    misconceptions,
    needs,
    overall,
    spread,
    troubles,
)
from autograder.grading.reports.marks import Mark, Marks, class_today, shown_name
from autograder.grading.reports.pseudonyms import pseudonyms
from autograder.grading.reports.shown import sentences
from autograder.grading.reports.tables import Table, grades_csv, tables, wanted
from autograder.grading.reports.term import Terms, read_rules, term_csv, term_tables, terms_of
from autograder.grading.run.grade import priced
from autograder.judging.mistakes import NOT_WRITTEN
from autograder.results import Result, Verdict

_TEMPLATES = Path(__file__).parent / "templates"


@dataclass(frozen=True)
class Written:
    """What a run wrote, for the summary."""

    page: Path
    tables: tuple[Table, ...]
    waiting: int
    term: bool = False

    @property
    def summary(self) -> str:
        """The page's path, and what is to be known of the tables."""
        lines = [str(self.page)]
        names = ["grades.csv", *(["term.csv"] if self.term else []), *(table.name for table in self.tables)]
        lines.append(f"Tables of marks beside it: {', '.join(names)}.")
        if self.waiting:
            one = self.waiting == 1
            lines.append(
                f"{counted(self.waiting, 'grade')} {'waits' if one else 'wait'} for a mark by hand, and "
                f"{'is' if one else 'are'} left empty in the tables."
            )
        lines += [
            f"{table.name} leaves out {counted(table.left_out, 'student')}: {table.why_not}."
            for table in self.tables
            if table.left_out
        ]
        return "\n".join(lines)


def write_report(
    classroom: Classroom,
    *,
    anonymous: bool = False,
    platforms: Iterable[str] = (),
    now: datetime | None = None,
) -> Written:
    """Write `report/`: the page, and the marks as the learning platforms take them.

    Parameters
    ----------
    classroom : Classroom
    anonymous : bool
        Pseudonyms for names, and nothing that students wrote themselves. Which pseudonym is whose stands
        in `pseudonyms.csv`, beside the report's folder.
    platforms : iterable of str
        For which a table is wanted besides those that hand-ins came from.
    now : datetime, optional
        As of when the term is told.

    Returns
    -------
    Written

    Raises
    ------
    Complaint
        If nothing is marked yet, nothing can be written, or the gradebook or the roster cannot be used.
    """
    labs = read_labs(classroom.course)
    if not any(classroom.results.glob("*/*.json")):
        raise Complaint(
            f"Nothing is marked in {classroom.root} yet, so there is nothing to report; run `autograder grade`."
        )
    classroom.must_be_writable()
    roll, policy, marks = class_today(classroom, labs)
    stored = [(student, lab, marked) for student, lab, marked in evidence.stored(classroom) if lab in labs]
    unread = [(student, lab) for student, lab, marked in stored if marked is None]
    rows = {(s, lab): tuple(priced(m, policy.points[lab])) for s, lab, m in stored if m is not None}
    marks.complete(rows)
    marks.sort(classroom.course.labs)
    handins = [
        HandIn(s, lab, rows[s, lab], m.notes, marks.marks[s, lab], 1 + _earlier(classroom, s, lab))
        for s, lab, m in stored
        if m is not None
    ]
    unmarked = _unmarked(classroom, handins)
    students = {*marks.students, *(s for s, _ in unmarked + unread)}
    missing = _missing(classroom, marks, roll)
    kept = [] if anonymous else tables(marks, platforms)
    rules = read_rules(classroom.course)
    terms = terms_of(rules, marks, policy, roll, now) if rules else None
    if terms and not anonymous:
        kept += term_tables(terms, marks, wanted(marks, platforms))
    if anonymous:
        names = {s: p for s, p in pseudonyms(students, classroom.root).items() if s in students}
        old, marks = marks, marks.renamed(names)
        handins = [
            _nameless(h, names[h.student], old.students[h.student], marks.marks[names[h.student], h.lab])
            for h in handins
        ]
        unmarked = [(names[s], lab) for s, lab in unmarked]
        unread = [(names[s], lab) for s, lab in unread]
        missing = {lab: [names[s] for s in absent] for lab, absent in missing.items()}
        terms = terms and terms.renamed(names)
    pages = {} if anonymous else _pages(classroom)
    addresses = {s: f"students/{quote(s)}.html" for s in marks.students if len(s.encode()) < 200}
    page = render(
        handins,
        marks,
        labs,
        policy,
        unmarked=unmarked,
        unread=unread,
        missing=missing,
        pages=pages,
        addresses=addresses,
        files=kept,
        terms=terms,
        anonymous=anonymous,
        now=now,
    )
    for stale in classroom.report.glob("*.csv"):  # of a platform that does not occur any more
        stale.unlink()
    write(classroom.report / "grades.csv", grades_csv(marks))
    if terms:
        write(classroom.report / "term.csv", term_csv(terms, marks))
    for table in kept:
        write(classroom.report / table.name, table.text)
    shutil.rmtree(classroom.report / "students", ignore_errors=True)
    for student, text in student_pages(handins, marks, terms, labs, pages, addresses):
        write(classroom.report / "students" / f"{student}.html", text)
    write(classroom.report / "index.html", page)
    return Written(classroom.report / "index.html", tuple(kept), marks.waiting, terms is not None)


def _earlier(classroom: Classroom, student: str, lab: str) -> int:
    """How many earlier attempts `collect` has kept."""
    return sum(1 for _ in (classroom.root / "submitted-earlier" / student / lab).glob("*.ipynb"))


def _missing(classroom: Classroom, marks: Marks, roll: Roll) -> dict[str, list[str]]:
    """By lab, who of the class handed in nothing; of labs that nobody handed in, nobody."""
    handed_in = set(classroom.handed_in(classroom.course.labs))
    labs = [lab for lab in classroom.course.labs if any(name == lab for _, name in handed_in)]
    everybody = [p.student for p in marks.present if not roll.people or p.student in roll.people]
    return {lab: [s for s in everybody if (s, lab) not in handed_in] for lab in labs}


def _pages(classroom: Classroom) -> dict[tuple[str, str], str]:
    """The address of each feedback page, as seen from the report."""
    return {
        (path.parent.parent.name, path.stem): f"../{quote(path.relative_to(classroom.root).as_posix())}"
        for path in classroom.files_in(classroom.feedback, "*/*/*.html")
        if path.stem == path.parent.name
    }


def _unmarked(classroom: Classroom, handins: Sequence[HandIn]) -> list[tuple[str, str]]:
    """Hand-ins that have no result: not marked yet, or the grader failed on them."""
    marked = {(h.student, h.lab) for h in handins}
    return [who for who in classroom.handed_in(classroom.course.labs) if who not in marked]


def _nameless(handin: HandIn, name: str, student: Person, mark: Mark) -> HandIn:
    """A hand-in under a pseudonym, without any text that its author may have written."""
    rows = tuple(replace(row, student=name, message=_ours(row)) for row in handin.rows)
    notes = tuple(_nameless_note(note, student) for note in handin.notes)
    return replace(handin, student=name, rows=rows, notes=notes, mark=mark)


def _nameless_note(note: str, student: Person) -> str:
    """A note without the file names and cell names that it quotes, which are the student's own."""
    note = re.sub(r"'.*'|\".*\"|“.*”", "“…”", note, flags=re.DOTALL)
    note = re.sub(r"^.*\.ipynb (?=is )", "The file ", note, flags=re.DOTALL)
    known = (student.student, student.first, student.last, student.email, student.login, student.name)
    if any(part and part.lower() in note.lower() for part in known):
        return "The file was odd in a way that would tell whose it is."
    return note


def _ours(row: Result) -> str:
    return NOT_WRITTEN if is_blank(row) else ""


def render(
    handins: Sequence[HandIn],
    marks: Marks,
    labs: Mapping[str, Lab],
    policy: Policy,
    *,
    unmarked: Sequence[tuple[str, str]] = (),
    unread: Sequence[tuple[str, str]] = (),
    missing: Mapping[str, Sequence[str]] | None = None,
    pages: Mapping[tuple[str, str], str] | None = None,
    addresses: Mapping[str, str] | None = None,
    files: Sequence[Table] = (),
    terms: Terms | None = None,
    anonymous: bool = False,
    now: datetime | None = None,
) -> str:
    """The page as HTML; everything in it that is not ours is escaped."""
    names = {s: shown_name(person) for s, person in marks.students.items()}
    handins = sorted(handins, key=lambda h: (alphabetical(names.get(h.student, h.student)), h.lab))
    by_lab = {lab: [h for h in handins if h.lab == lab] for lab in labs if any(h.lab == lab for h in handins)}
    figures = [lab_figures(lab, of_lab) for lab, of_lab in by_lab.items()]
    percents = overall(handins)
    page = environment().get_template("report.html")
    script = Markup((_TEMPLATES / "report.js").read_text("utf-8"))
    text = page.render(
        course=next(iter(labs.values())).course.title if labs else "",
        labs=figures,
        overall=spread([percents[p.student] for p in marks.present if p.student in percents]),
        handins=len(handins),
        students=len({h.student for h in handins}),
        everybody=list(marks.students),
        percents=percents,
        by_student={(h.student, h.lab): h for h in handins},
        pages=pages or {},
        addresses=addresses or {},
        sections=_sections(marks, percents),
        section=lambda student: marks.students[student].section,
        interrupted=[h for h in handins if h.mark.interrupted],
        script=script,
        script_hash=f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}",
        needs=needs(handins, marks, missing or {}, list(by_lab)),
        missing=missing or {},
        held=misconceptions(handins, labs),
        talk=[
            (verdict, *TALK[verdict], found)
            for verdict in TALK
            if (found := troubles(handins, partial(_ended, verdict)))
        ],
        blank=troubles(handins, is_blank),
        unmarked=sorted(unmarked),
        unread=sorted(unread),
        notes=[h for h in handins if h.notes],
        late=[h for h in handins if h.mark.late > 0],
        untimed=[
            h
            for h in handins
            if not h.mark.timestamp and (o := marks.origins.get((h.student, h.lab))) and o.late
        ],
        asked=[
            (student, lab, name, one.request)
            for (student, lab), by_exercise in marks.requests.items()
            for name, requests in by_exercise.items()
            for one in requests
            if not one.answer
        ],
        extended=[h for h in handins if h.mark.extension],
        due=[(lab.name, policy.local(lab.due)) for lab in marks.labs.values() if lab.due],
        dropped={
            lab: [name for name, worth in policy.points[lab].items() if not worth]
            for lab in by_lab
            if lab in policy.points
        },
        partners=sorted({(lab, names) for (_, lab), names in marks.partners.items()}),
        policy=policy,
        slowest=sorted(handins, key=lambda h: -h.seconds)[:5],
        seconds=sum(h.seconds for h in handins),
        waiting=sum(h.mark.awaits > 0 for h in handins),
        from_gradebook=marks.from_gradebook,
        files=files,
        terms=terms,
        grades=_grades(terms, marks) if terms else [],
        anonymous=anonymous,
        fewest=FEWEST_FOR_DISCRIMINATION,
        who=lambda student: names.get(student, student),
        title=lambda lab: labs[lab].title if lab in labs else lab,
        now=policy.local(now or datetime.now(UTC)),
    )
    return encodable(text.lstrip())


def student_pages(
    handins: Sequence[HandIn],
    marks: Marks,
    terms: Terms | None,
    labs: Iterable[str],
    pages: Mapping[tuple[str, str], str],
    students: Iterable[str],
) -> Iterator[tuple[str, str]]:
    """A page for each of these students: all their labs in one table."""
    by_student = {(h.student, h.lab): h for h in handins}
    percents, page = overall(handins), environment().get_template("student.html")
    course = [lab for lab in labs if any(h.lab == lab for h in handins)]
    for student in students:
        person = marks.students[student]
        rows = [
            (lab, marks.state(student, lab), by_student.get((student, lab)), pages.get((student, lab)))
            for lab in course
        ]
        text = page.render(
            name=shown_name(person),
            course=", ".join(course),
            percent=percents.get(student),
            section=person.section,
            term=terms.of[student] if terms else None,
            labs=rows,
        )
        yield student, encodable(text)


def _sections(marks: Marks, percents: Mapping[str, float]) -> list[tuple[str, int, Spread]]:
    """Each section of the class, how many are in it, and how they did; none where there is but one."""
    members: dict[str, list[str]] = defaultdict(list)
    for student, person in marks.students.items():
        members[person.section].append(student)
    return [
        (name, len(of), spread([percents[s] for s in of if s in percents]))
        for name, of in sorted(members.items())
        if len(members) > 1
    ]


def _grades(terms: Terms, marks: Marks) -> list[tuple[str, int]]:
    """Each grade, and how many of the class have it so far."""
    counts = Counter(terms.of[person.student].grade for person in marks.present)
    return [(name, counts[name]) for _, name in terms.rules.grades]


def _ended(verdict: Verdict, row: Result) -> bool:
    return row.verdict is verdict and not is_blank(row)


@cache
def environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
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
        ticks=sentences,
        breaks=lambda name: Markup("-<wbr>").join(name.split("-")),
        moment=moment,
        points=lambda number: f"{number:g}",
        span=span,
        plural=lambda count, one, many=None: f"{count} {one if count == 1 else many or one + 's'}",
    )
    return environment


def moment(when: datetime) -> str:
    """A time as a page tells it.

    >>> from datetime import UTC
    >>> moment(datetime(2026, 1, 2, 18, tzinfo=UTC))
    'Fri 2 January 2026, 18:00 UTC'
    """
    return f"{when:%a} {when.day} {when:%B %Y, %H:%M} {when.tzname()}"


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
