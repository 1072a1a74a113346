"""The class in one page: how the labs went, what was misunderstood, and who to talk to.

The page needs no network, and no script to be read: a small one of ours sorts and searches the students' table.
What stands in it comes from the results of marking; the marks come from the gradebook, so that marks by hand and
late penalties count.
"""

import shutil
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from hashlib import sha256
from urllib.parse import quote

from markupsafe import Markup

from autograder.authoring.lab import Lab, read_labs
from autograder.errors import Complaint, counted
from autograder.files import write
from autograder.grading.register import evidence
from autograder.grading.register.classroom import Classroom
from autograder.grading.register.roll import alphabetical
from autograder.grading.reports.figures import (
    FEWEST_FOR_DISCRIMINATION,
    TALK,
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
from autograder.grading.reports.shown import TEMPLATES, page
from autograder.grading.reports.tables import Table, grades_csv, tables, wanted
from autograder.grading.reports.term import Terms, read_rules, term_csv, term_tables, terms_of
from autograder.results import Result, Verdict


def write_report(
    classroom: Classroom,
    *,
    anonymous: bool = False,
    platforms: Iterable[str] = (),
    now: datetime | None = None,
) -> list[str]:
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
    list of str
        What is to be known of the tables, a sentence each.

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
    marks = class_today(classroom, labs)
    found = {who: marked for who, marked in evidence.stored(classroom).items() if who[1] in labs}
    marks.complete(classroom, {who: marked for who, marked in found.items() if marked is not None})
    marks.sort(classroom.course.labs)
    rules = read_rules(classroom.course)
    report = Report(
        marks=marks,
        labs=labs,
        missing=marks.missing,
        unread=sorted(who for who, marked in found.items() if marked is None),
        terms=terms_of(rules, marks, now) if rules else None,
        now=marks.policy.local(now or datetime.now(UTC)),
    )
    if anonymous:
        students = {*marks.students, *(student for student, _ in (*marks.handed_in, *report.unread))}
        report = report.renamed(pseudonyms(students, classroom.root))
    else:
        files = tables(marks, platforms)
        if report.terms:
            files += term_tables(report.terms, marks, wanted(marks, platforms))
        report = replace(report, pages=_pages(classroom), files=tuple(files))
    text = render(report)
    for stale in classroom.report.glob("*.csv"):  # of a platform that does not occur any more
        stale.unlink()
    write(classroom.report / "grades.csv", grades_csv(report.marks))
    if report.terms:
        write(classroom.report / "term.csv", term_csv(report.terms, report.marks))
    for table in report.files:
        write(classroom.report / table.name, table.text)
    shutil.rmtree(classroom.report / "students", ignore_errors=True)
    for student, of_student in student_pages(report):
        write(classroom.report / "students" / f"{student}.html", of_student)
    write(classroom.report / "index.html", text)
    return _of_tables(report)


def _of_tables(report: "Report") -> list[str]:
    waiting, term = report.marks.waiting, ["term.csv"] if report.terms else []
    names = ["grades.csv", *term, *(table.name for table in report.files)]
    lines = [f"Tables of marks beside it: {', '.join(names)}."]
    if waiting:
        one = waiting == 1
        lines.append(
            f"{counted(waiting, 'grade')} {'waits' if one else 'wait'} for a mark by hand, and "
            f"{'is' if one else 'are'} left empty in the tables."
        )
    return lines + [
        f"{table.name} leaves out {counted(table.left_out, 'student')}: {table.why_not}."
        for table in report.files
        if table.left_out
    ]


def _pages(classroom: Classroom) -> dict[tuple[str, str], str]:
    """The address of each feedback page, as seen from the report."""
    return {
        (path.parent.parent.name, path.stem): f"../{quote(path.relative_to(classroom.root).as_posix())}"
        for path in classroom.files_in(classroom.feedback, "*/*/*.html")
        if path.stem == path.parent.name
    }


@dataclass(frozen=True, kw_only=True)
class Report:
    """The class, as its pages show it.

    Parameters
    ----------
    marks : Marks
        With what marking found.
    labs : mapping of str to Lab
        The course's.
    missing : mapping of str to sequence of str
        By lab, who handed in nothing.
    unread : sequence of (str, str)
        Students and labs whose results cannot be read.
    terms : Terms or None
    now : datetime
        In the course's time.
    anonymous : bool
        Everybody is under a pseudonym, and nothing is shown that students wrote.
    pages : mapping of (str, str) to str
        The addresses of feedback pages, by student and lab.
    files : tuple of Table
        Those beside the page.
    """

    marks: Marks
    labs: Mapping[str, Lab]
    missing: Mapping[str, Sequence[str]]
    unread: Sequence[tuple[str, str]]
    terms: Terms | None
    now: datetime
    anonymous: bool = False
    pages: Mapping[tuple[str, str], str] = field(default_factory=dict)
    files: tuple[Table, ...] = ()

    def renamed(self, names: Mapping[str, str]) -> "Report":
        """The same under other names."""
        return replace(
            self,
            marks=self.marks.renamed(names),
            missing={lab: [names[student] for student in absent] for lab, absent in self.missing.items()},
            unread=sorted((names[student], lab) for student, lab in self.unread),
            terms=self.terms and self.terms.renamed(names),
            anonymous=True,
        )

    def name(self, student: str) -> str:
        """A student as a person reads it."""
        known = self.marks.students.get(student)
        return shown_name(known) if known else student

    @cached_property
    def handins(self) -> list[Mark]:
        """What was marked, alphabetically."""
        marked = (mark for mark in self.marks.marks.values() if mark.rows)
        return sorted(marked, key=lambda mark: (alphabetical(self.name(mark.student)), mark.lab))

    @cached_property
    def unmarked(self) -> list[tuple[str, str]]:
        """Hand-ins that have no result: not marked yet, or the grader failed on them."""
        return sorted(self.marks.handed_in - {(h.student, h.lab) for h in self.handins})

    @cached_property
    def percents(self) -> dict[str, float]:
        """What each has of the points so far."""
        return overall(self.handins)

    @cached_property
    def addresses(self) -> dict[str, str]:
        """The addresses of the students' own pages; none of a name that is too long for a file."""
        return {s: f"students/{quote(s)}.html" for s in self.marks.students if len(s.encode()) < 200}


def render(report: Report) -> str:
    """The page as HTML; everything in it that is not ours is escaped."""
    marks, labs, handins = report.marks, report.labs, report.handins
    by_lab = {lab: of_lab for lab in labs if (of_lab := [h for h in handins if h.lab == lab])}
    script = Markup((TEMPLATES / "report.js").read_text("utf-8"))
    return page(
        "report.html",
        report=report,
        marks=marks,
        policy=marks.policy,
        course=next(iter(labs.values())).course.title if labs else "",
        labs=[lab_figures(lab, of_lab) for lab, of_lab in by_lab.items()],
        overall=spread([report.percents[p.student] for p in marks.present if p.student in report.percents]),
        sections=_sections(report),
        script=script,
        script_hash=f"sha256-{b64encode(sha256(script.encode()).digest()).decode()}",
        needs=needs(handins, marks, report.missing, list(by_lab)),
        held=misconceptions(handins, labs),
        talk=[
            (verdict, *TALK[verdict], found)
            for verdict in TALK
            if (found := troubles(handins, partial(_ended, verdict)))
        ],
        blank=troubles(handins, is_blank),
        untimed=[
            h
            for h in handins
            if not h.timestamp and (origin := marks.origins.get((h.student, h.lab))) and origin.late
        ],
        asked=[
            (student, lab, name, one.request)
            for (student, lab), by_exercise in marks.requests.items()
            for name, requests in by_exercise.items()
            for one in requests
            if not one.answer
        ],
        dropped={lab: [n for n, worth in marks.policy.points[lab].items() if not worth] for lab in by_lab},
        partners=sorted({(lab, names) for (_, lab), names in marks.partners.items()}),
        grades=_grades(report.terms, marks) if report.terms else [],
        fewest=FEWEST_FOR_DISCRIMINATION,
        who=report.name,
    )


def student_pages(report: Report) -> Iterator[tuple[str, str]]:
    """A page for each student who has an address: all their labs in one table."""
    course = [lab for lab in report.labs if any(h.lab == lab for h in report.handins)]
    for student in report.addresses:
        yield (
            student,
            page("student.html", report=report, marks=report.marks, student=student, course=course),
        )


def _sections(report: Report) -> list[tuple[str, int, Spread]]:
    """Each section of the class, how many are in it, and how they did; none where there is but one."""
    members: dict[str, list[str]] = defaultdict(list)
    for student, person in report.marks.students.items():
        members[person.section].append(student)
    return [
        (name, len(of), spread([report.percents[s] for s in of if s in report.percents]))
        for name, of in sorted(members.items())
        if len(members) > 1
    ]


def _grades(terms: Terms, marks: Marks) -> list[tuple[str, int]]:
    """Each grade, and how many of the class have it so far."""
    counts = Counter(terms.of[person.student].grade for person in marks.present)
    return [(name, counts[name]) for _, name in terms.rules.grades]


def _ended(verdict: Verdict, row: Result) -> bool:
    return row.verdict is verdict and not is_blank(row)
