"""Write the instructor's report on a class: labs, misconceptions, and students who need help.

The page needs no network. It can be read without scripts; its own small script sorts and searches
the table of students. Verdicts come from the stored results, marks from the gradebook, so that
manual grading and late penalties count.
"""

import shlex
import shutil
from base64 import b64encode
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from hashlib import sha256
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from autograder.authoring.lab import Lab, read_labs
from autograder.core.errors import AutograderError
from autograder.core.files import write_file
from autograder.core.results import Result, Verdict
from autograder.core.text_format import format_count
from autograder.gradebook import result_store
from autograder.gradebook.attempt_choice import describe_ungraded_attempts
from autograder.gradebook.class_list import make_name_sort_key
from autograder.gradebook.classroom import Classroom
from autograder.reports.marks import ClassMarks, Mark, display_name, refresh_and_read_marks
from autograder.reports.platform_csv import (
    PlatformTable,
    build_platform_tables,
    format_grades_csv,
    select_platforms,
)
from autograder.reports.pseudonyms import assign_pseudonyms
from autograder.reports.safe_html import TEMPLATES, render_page
from autograder.reports.statistics import (
    MIN_STUDENTS_FOR_DISCRIMINATION,
    VERDICT_ADVICE,
    Distribution,
    SubmissionExercises,
    compute_student_percentages,
    count_misconceptions,
    find_exercises_by_submission,
    find_students_in_need,
    summarise_distribution,
    summarise_lab,
)
from autograder.reports.submission_patterns import SPANS_BEFORE_DUE_DATE, is_blank
from autograder.reports.term import (
    ClassTerm,
    build_term_tables,
    compute_terms,
    format_term_csv,
    read_term_rules,
)

MAX_PAGE_NAME_BYTES = 200  # students with longer names have no page of their own


def write_report(
    classroom: Classroom,
    *,
    anonymous: bool = False,
    platforms: Iterable[str] = (),
    now: datetime | None = None,
) -> list[str]:
    """Write the folder `report/`: HTML pages, and tables of marks that learning platforms import.

    Parameters
    ----------
    anonymous : bool
        Use pseudonyms, and show nothing that students wrote. The pseudonyms are listed in
        `pseudonyms.csv`, outside of the report's folder.
    platforms : iterable of str
        Platforms that need a table besides those that submissions came from.
    now : datetime, optional
        Time for which the term is computed.

    Returns
    -------
    list of str
        Sentences about the tables.

    Raises
    ------
    AutograderError
        If nothing is graded, nothing can be written, or the gradebook or roster cannot be used.
    """
    report = build_report(classroom, now)
    if anonymous:
        students = {*report.marks.students}
        for student, _ in (*report.marks.submissions, *report.unreadable_results):
            students.add(student)
        report = report.with_pseudonyms(assign_pseudonyms(students, classroom.root))
    else:
        tables = build_platform_tables(report.marks, platforms)
        if report.terms:
            selected_platforms = select_platforms(report.marks, platforms)
            tables += build_term_tables(report.terms, report.marks, selected_platforms)
        report = replace(
            report, pages=_find_feedback_page_addresses(classroom), files=tuple(tables)
        )
    _replace_report_files(classroom, report)
    sentences = [*_describe_mark_tables(report), *report.marks.request_notes]
    if not anonymous:
        sentences += report.marks.class_list.notes
    labs = read_labs(classroom.course)
    sentences += describe_ungraded_attempts(classroom, labs, report.marks.policy)
    return sentences


def build_report(classroom: Classroom, now: datetime | None = None) -> "ClassReport":
    """Collect everything that the report on a class shows, with the students' real names.

    Raises
    ------
    AutograderError
        If nothing is graded, nothing can be written, or the gradebook or roster cannot be used.
    """
    labs = read_labs(classroom.course)
    if not any(classroom.results.glob("*/*.json")):
        raise AutograderError(
            f"Nothing is graded in {classroom.root} yet, so there is nothing to report; "
            "run `autograder grade`."
        )
    classroom.require_writable()
    marks = refresh_and_read_marks(classroom, labs)
    readable_results, unreadable_results = {}, []
    for (student, lab), submission in result_store.load_all_results(classroom).items():
        if lab not in labs:
            continue
        if submission is None:
            unreadable_results.append((student, lab))
        else:
            readable_results[student, lab] = submission
    marks.add_results(classroom, readable_results)
    marks.sort(classroom.course.labs)
    rules = read_term_rules(classroom.course)
    return ClassReport(
        marks=marks,
        labs=labs,
        missing=marks.missing_students,
        unreadable_results=sorted(unreadable_results),
        terms=compute_terms(rules, marks, now) if rules else None,
        now=marks.policy.to_local_time(now or datetime.now(UTC)),
        classroom_option=_make_classroom_option(classroom),
    )


def _make_classroom_option(classroom: Classroom) -> str:
    """Return the option that a command needs to find the classroom; "" if it needs none."""
    if classroom.root.absolute() == classroom.course.root / "classroom":
        return ""
    return f" --classroom {shlex.quote(str(classroom.root))}"


def _replace_report_files(classroom: Classroom, report: "ClassReport") -> None:
    """Write the pages and tables of a report, and delete those of an earlier report."""
    html = render_class_page(report)
    for old_table in classroom.report.glob("*.csv"):  # perhaps of another platform
        old_table.unlink()
    write_file(classroom.report / "grades.csv", format_grades_csv(report.marks))
    if report.terms:
        write_file(classroom.report / "term.csv", format_term_csv(report.terms, report.marks))
    for table in report.files:
        write_file(classroom.report / table.name, table.text)
    shutil.rmtree(classroom.report / "students", ignore_errors=True)
    for student, overview in render_student_overviews(report):
        write_file(classroom.report / "students" / f"{student}.html", overview)
    write_file(classroom.report / "index.html", html)


def _describe_mark_tables(report: "ClassReport") -> list[str]:
    names = ["grades.csv"]
    if report.terms:
        names.append("term.csv")
    names += [table.name for table in report.files]
    sentences = [f"Tables of marks beside it: {', '.join(names)}."]
    count = report.marks.awaiting_manual_count
    if count:
        grades, verb, auxiliary = format_count(count, "grade"), "await", "are"
        if count == 1:
            verb, auxiliary = "awaits", "is"
        sentences.append(
            f"{grades} {verb} manual grading, and {auxiliary} left empty in the tables."
        )
    for table in report.files:
        if table.omitted_count:
            students = format_count(table.omitted_count, "student")
            sentences.append(f"{table.name} leaves out {students}: {table.omission_reason}.")
    return sentences


def _find_feedback_page_addresses(classroom: Classroom) -> dict[tuple[str, str], str]:
    """Return the address of each student's feedback page on each lab, relative to the report."""
    addresses = {}
    for path in classroom.list_files(classroom.feedback, "*/*/*.html"):
        student, lab = path.parent.parent.name, path.parent.name
        if path.stem == lab:
            addresses[student, lab] = f"../{quote(path.relative_to(classroom.root).as_posix())}"
    return addresses


@dataclass(frozen=True, kw_only=True)
class ClassReport:
    """Data of the report on a class: everything that its pages show.

    Parameters
    ----------
    marks : ClassMarks
        Marks, to which the cached results have been added.
    labs : mapping of str to Lab
        All labs of the course.
    missing : mapping of str to sequence of str
        Students without a submission, by lab.
    unreadable_results : sequence of (str, str)
        Students and labs whose stored results cannot be read.
    terms : ClassTerm or None
        None if the course has no rules for a term.
    now : datetime
        In the course's time zone.
    anonymous : bool
        Students have pseudonyms, and nothing that they wrote is shown.
    pages : mapping of (str, str) to str
        Addresses of the feedback pages, by student and lab.
    files : tuple of PlatformTable
        Tables beside the page.
    classroom_option : str
        What the shown commands end in, such as " --classroom demo"; "" for the default folder.
    """

    marks: ClassMarks
    labs: Mapping[str, Lab]
    missing: Mapping[str, Sequence[str]]
    unreadable_results: Sequence[tuple[str, str]]
    terms: ClassTerm | None
    now: datetime
    anonymous: bool = False
    pages: Mapping[tuple[str, str], str] = field(default_factory=dict)
    files: tuple[PlatformTable, ...] = ()
    classroom_option: str = ""

    @property
    def manual_grading_commands(self) -> list[str]:
        """Commands that write a sheet for manual grading, one for each question that awaits it."""
        commands = []
        for name, lab in self.labs.items():
            marks = [mark for (_, of_lab), mark in self.marks.marks.items() if of_lab == name]
            for question in lab.manual_questions:
                if any(_may_await_manual_grading(mark, question) for mark in marks):
                    commands.append(f"autograder answers {name} {question}{self.classroom_option}")
        return commands

    def with_pseudonyms(self, pseudonyms: Mapping[str, str]) -> "ClassReport":
        """Return a copy of the report with pseudonyms instead of the students' names."""
        missing = {}
        for lab, students in self.missing.items():
            missing[lab] = [pseudonyms[student] for student in students]
        unreadable_results = [
            (pseudonyms[student], lab) for student, lab in self.unreadable_results
        ]
        return replace(
            self,
            marks=self.marks.with_pseudonyms(pseudonyms),
            missing=missing,
            unreadable_results=sorted(unreadable_results),
            terms=self.terms and self.terms.with_pseudonyms(pseudonyms),
            anonymous=True,
        )

    def display_name(self, student: str) -> str:
        """Return a student's name as instructors see it, such as "Ada Lovelace (al123)"."""
        person = self.marks.students.get(student)
        return display_name(person) if person else student

    @cached_property
    def graded_submissions_without_mistaken_labs(self) -> list[Mark]:
        """Graded submissions, without labs that few students submitted, probably by mistake."""
        mistaken = self.marks.mistaken_lab_submitters
        return [mark for mark in self.graded_submissions if mark.lab not in mistaken]

    @cached_property
    def graded_submissions(self) -> list[Mark]:
        """Marks of all graded submissions, sorted by the student's name and by lab."""
        marks = [mark for mark in self.marks.marks.values() if mark.results]
        names = {mark.student: self.display_name(mark.student) for mark in marks}
        return sorted(marks, key=lambda mark: (make_name_sort_key(names[mark.student]), mark.lab))

    @cached_property
    def ungraded_submissions(self) -> list[tuple[str, str]]:
        """Submissions that have not been graded yet, or on which the autograder failed."""
        graded_keys = {(mark.student, mark.lab) for mark in self.graded_submissions}
        return sorted(self.marks.submissions - graded_keys)

    @cached_property
    def percentages(self) -> dict[str, float]:
        """Percentage of the points that each student has so far."""
        return compute_student_percentages(self.graded_submissions_without_mistaken_labs)

    @cached_property
    def addresses(self) -> dict[str, str]:
        """Addresses of the students' pages, relative to the report; too long names are left out."""
        addresses = {}
        for student in self.marks.students:
            if len(student.encode()) < MAX_PAGE_NAME_BYTES:
                addresses[student] = f"students/{quote(student)}.html"
        return addresses


def render_class_page(report: ClassReport) -> str:
    """Return the report's main page as HTML; everything that students wrote is escaped."""
    script = Markup((TEMPLATES / "report.js").read_text("utf-8"))
    script_hash = b64encode(sha256(script.encode()).digest()).decode()
    course = next(iter(report.labs.values())).course.title if report.labs else ""
    return render_page(
        "report.html",
        report=report,
        marks=report.marks,
        policy=report.marks.policy,
        course=course,
        sections=_summarise_sections(report),
        script=script,
        script_hash=f"sha256-{script_hash}",
        grades=_count_grades(report.terms, report.marks) if report.terms else [],
        min_students=MIN_STUDENTS_FOR_DISCRIMINATION,
        display_name=report.display_name,
        **_statistics_for_template(report),
        **_pending_matters_for_template(report),
    )


def _statistics_for_template(report: ClassReport) -> dict[str, Any]:
    """Return the statistics that the page's template uses, by name."""
    marks, submissions = report.marks, report.graded_submissions_without_mistaken_labs
    by_lab: dict[str, list[Mark]] = {}
    for lab in report.labs:
        marks_of_lab = [mark for mark in submissions if mark.lab == lab]
        if marks_of_lab:
            by_lab[lab] = marks_of_lab
    enrolled_students = [person.student for person in marks.enrolled]
    dropped_exercises = {}
    for lab in by_lab:
        points = marks.policy.points[lab]
        dropped_exercises[lab] = [name for name in points if not points[name]]
    return {
        "labs": [summarise_lab(lab, marks_of_lab, marks) for lab, marks_of_lab in by_lab.items()],
        "spans_before": SPANS_BEFORE_DUE_DATE,
        "overall": _summarise_percentages(report, enrolled_students),
        "students_in_need": find_students_in_need(submissions, marks, report.missing, list(by_lab)),
        "misconceptions": count_misconceptions(submissions, report.labs),
        "blank": find_exercises_by_submission(submissions, is_blank),
        "dropped": dropped_exercises,
    }


def _pending_matters_for_template(report: ClassReport) -> dict[str, Any]:
    """Return what the instructor has still to do, such as open regrade requests, as variables."""
    marks = report.marks
    verdict_groups: list[tuple[Verdict, str, str, list[SubmissionExercises]]] = []
    for verdict, (title, advice) in VERDICT_ADVICE.items():
        groups = find_exercises_by_submission(
            report.graded_submissions, partial(_has_verdict_and_answer, verdict)
        )
        if groups:
            verdict_groups.append((verdict, title, advice, groups))
    late_without_time = []
    for mark in report.graded_submissions:
        origin = marks.origins.get((mark.student, mark.lab))
        if origin and origin.late and not mark.timestamp:
            late_without_time.append(mark)
    open_requests = []
    for (student, lab), by_exercise in marks.regrade_requests.items():
        for name, requests in by_exercise.items():
            for request in requests:
                if not request.answer:
                    open_requests.append((student, lab, name, request.text))
    return {
        "verdict_groups": verdict_groups,
        "late_without_time": late_without_time,
        "open_requests": open_requests,
        "changed_marks": list(_list_marks_changed_by_person(report)),
        "partners": sorted({(lab, group) for (_, lab), group in marks.partners.items()}),
    }


@dataclass(frozen=True, kw_only=True)
class MarkChangedByPerson:
    """Mark that a person changed, or gave extra credit for.

    Parameters
    ----------
    grader_score : float or None
        Points that the autograder gave; None for a question that a person grades.
    score : float or None
        Points today, with the extra credit.
    """

    student: str
    lab: str
    exercise: str
    grader_score: float | None
    score: float | None
    max_score: float
    extra_credit: float
    comment: str


def _list_marks_changed_by_person(report: ClassReport) -> Iterator[MarkChangedByPerson]:
    """Yield all marks of exercises that a person changed, and all extra credit."""
    for mark in report.graded_submissions:
        rows = {row.exercise: row for row in mark.results}
        for name in mark.changed_by_person:
            yield MarkChangedByPerson(
                student=mark.student,
                lab=mark.lab,
                exercise=name,
                grader_score=rows[name].score,
                score=mark.scores.get(name),
                max_score=mark.points.get(name, rows[name].max_score),
                extra_credit=mark.extra_credit.get(name, 0.0),
                comment=mark.comments.get(name, ""),
            )


def render_student_overviews(report: ClassReport) -> Iterator[tuple[str, str]]:
    """Yield each student with a page that shows all the student's labs in one table."""
    graded_labs = {mark.lab for mark in report.graded_submissions}
    labs = [lab for lab in report.labs if lab in graded_labs]
    for student in report.addresses:
        context = {"report": report, "marks": report.marks, "student": student, "labs": labs}
        yield student, render_page("student.html", **context)


def _summarise_sections(report: ClassReport) -> list[tuple[str, int, Distribution]]:
    """Return name, size and distribution of marks of each section (group); [] if only one."""
    members: dict[str, list[str]] = defaultdict(list)
    for person in report.marks.enrolled:
        members[person.section].append(person.student)
    if len(members) < 2:
        return []
    sections = []
    for name, students in sorted(members.items()):
        sections.append((name, len(students), _summarise_percentages(report, students)))
    return sections


def _summarise_percentages(report: ClassReport, students: Iterable[str]) -> Distribution:
    """Return the distribution of the percentages of these students, as far as they have any."""
    percentages = []
    for student in students:
        if student in report.percentages:
            percentages.append(report.percentages[student])
    return summarise_distribution(percentages)


def _count_grades(terms: ClassTerm, marks: ClassMarks) -> list[tuple[str, int]]:
    """Return each grade of the term, and the number of students who have this grade so far."""
    counts = Counter(terms.by_student[person.student].grade for person in marks.enrolled)
    return [(name, counts[name]) for _, name in terms.rules.grades]


def _may_await_manual_grading(mark: Mark, question: str) -> bool:
    """Return True if a question of this submission is neither graded nor dropped."""
    is_dropped = mark.points.get(question) == 0
    return mark.awaiting_manual_count > 0 and mark.scores.get(question) is None and not is_dropped


def _has_verdict_and_answer(verdict: Verdict, result: Result) -> bool:
    return result.verdict is verdict and not is_blank(result)
