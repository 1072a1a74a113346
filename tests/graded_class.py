"""Graded classes without grading: results, gradebook, and origins of submissions."""

import csv
import io
import json
import shutil
from dataclasses import asdict, replace
from html.parser import HTMLParser

import nbformat
from our_course import COURSE, lab

from autograder.authoring.lab import read_labs
from autograder.core.course import Course
from autograder.core.files import write_file
from autograder.core.notebook_cells import get_grade_id
from autograder.core.results import Result, ResultReason, Verdict
from autograder.gradebook import result_store
from autograder.gradebook.classroom import Submission
from autograder.gradebook.gradebook_writer import GradebookWriter
from autograder.gradebook.graded_submission import GradedSubmission, GradingOptions
from autograder.gradebook.nbgrader_db import remove_password
from autograder.gradebook.policy import read_policy
from autograder.grading.grade_submission import release_for_grading
from autograder.intake import Origin
from autograder.reports.class_page import write_report
from autograder.reports.marks import Mark

LAB = "qkv-attention"
EVIL = "<script>alert(1)</script>"


def policy_of(course=COURSE):
    return read_policy(course, read_labs(course))


def with_policy(classroom, policy=None, **of_lab):
    """Return the classroom of the same course with other settings in course.toml."""
    course = replace(classroom.course, policy=policy or {}, lab={LAB: of_lab} if of_lab else {})
    assert isinstance(course, Course)
    classroom.course = course
    return classroom


def row(
    student,
    exercise,
    verdict=Verdict.PASS,
    misconception=None,
    message="",
    points=2,
    seconds=0.5,
    kind=ResultReason.JUDGED,
    **more,
):
    more |= {"misconception": misconception, "message": message, "seconds": seconds, "kind": kind}
    score = {Verdict.PASS: points, Verdict.MANUAL: None, Verdict.FAULT: None}.get(verdict, 0)
    return Result(
        student=student,
        lab=LAB,
        exercise=exercise,
        score=score,
        max_score=points,
        verdict=verdict,
        **more,
    )


def submission(student, rows, scores=None, notes=(), **mark):
    scores = scores or {r.exercise: r.score for r in rows}
    points = {r.exercise: r.max_score for r in rows}
    mark |= {"results": tuple(rows), "notes": tuple(notes)}
    return Mark(student=student, lab=LAB, scores=scores, points=points, **mark)


def results(
    student,
    wrong=(),
    message="",
    notes=(),
    answer="An answer.",
    misconception=None,
    file_hash="1",
    **facts,
):
    """Return a graded submission of the lab, as the grader makes it.

    All answers are right but those of the exercises in `wrong`.
    """
    notebook = nbformat.from_dict(json.loads(json.dumps(release_for_grading(lab(LAB)))))
    rows, answers = [], {}
    for cell in notebook.cells:
        grader = cell.metadata.get("nbgrader", {})
        exercise = lab(LAB).exercises_by_test_cell.get(get_grade_id(cell))
        if cell.cell_type == "markdown" and grader.get("solution"):
            cell.source = answer
        if grader.get("solution"):
            answered_exercise = lab(LAB).exercises_by_answer_cell.get(get_grade_id(cell))
            name = answered_exercise.name if answered_exercise else get_grade_id(cell)
            answers[name] = cell.source
        if grader.get("grade"):
            name = exercise.name if exercise else get_grade_id(cell)
            verdict, findings = Verdict.PASS, {}
            if not exercise:
                verdict = Verdict.MANUAL
            elif name in wrong:
                verdict, findings = Verdict.WRONG, {"misconception": misconception, **facts}
            rows.append(
                row(student, name, verdict, message=message, points=grader["points"], **findings)
            )
    return GradedSubmission(tuple(rows), notebook, tuple(notes), 1, answers, file_hash=file_hash)


def fill(classroom, submissions, gradebook=None, timestamp=None):
    """Store graded submissions, by student, and write them into a copy of the gradebook."""
    for student, marked in submissions.items():
        submission = Submission(student, LAB, b"", "", timestamp)
        fingerprint = result_store.fingerprint_submission(submission, lab(LAB), GradingOptions())
        result_store.store_result(classroom, submission, marked, fingerprint)
        (classroom.submitted / student / LAB).mkdir(parents=True, exist_ok=True)
        write_file(classroom.notebook_path(student, LAB), json.dumps(marked.notebook))
    if gradebook:
        if not (classroom.root / "gradebook.db").exists():
            copy_gradebook(gradebook, classroom)
        with GradebookWriter(classroom) as book:
            for student, marked in submissions.items():
                book.record_submission(Submission(student, LAB, b"", "", timestamp), marked)


def copy_gradebook(gradebook, classroom):
    """Copy a gradebook into a classroom, with the files that say which labs are in it."""
    shutil.copy(gradebook, classroom.root)
    for path in gradebook.parent.glob(".*.prepared"):
        state = json.loads(path.read_text("utf-8"))
        state["gradebook"] = remove_password(classroom.db)
        write_file(classroom.root / path.name, json.dumps(state))


def came_from(classroom, student, platform, **facts):
    """Record, as `collect` does, the origin of a student's submission."""
    origin = Origin(platform=platform, **facts)
    path = classroom.root / "collected" / student / f"{LAB}.json"
    write_file(path, json.dumps({"version": 1, **asdict(origin)}))


def enrol(classroom, text):
    write_file(classroom.root / "roster.csv", text)


def by_hand(classroom, student, score, comment=None, question="explain-flat"):
    """Grade a question manually, as an instructor in the formgrader."""
    from nbgrader.api import Gradebook

    with Gradebook(classroom.db, COURSE.id) as book:
        notebook = book.find_submission(LAB, student).notebooks[0]
        grade = next(g for g in notebook.grades if g.name == question)
        grade.manual_score, grade.needs_manual_grade = score, score is None
        if comment:
            next(c for c in notebook.comments if c.name == question).manual_comment = comment
        book.db.commit()


def reported(classroom, **options):
    """Return the class page as HTML."""
    write_report(classroom, **options)
    return (classroom.report / "index.html").read_text("utf-8")


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


class Balance(HTMLParser):
    """Return the elements that are unclosed, or closed without having been opened."""

    VOID = frozenset({"meta", "br", "wbr", "rect", "line", "circle", "path", "img", "link", "hr"})

    def __init__(self):
        super().__init__()
        self.open, self.wrong, self.tags, self.ids = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for key, value in attrs if key == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append((tag, self.getpos()))


def well_formed(page):
    parser = Balance()
    parser.feed(page)
    assert not parser.wrong and not parser.open
    assert len(parser.ids) == len(set(parser.ids))
    for _, attrs in parser.tags:  # what is named by an id is there
        row_of = attrs.get("aria-labelledby", "").split()
        if attrs.get("href", "").startswith("#"):
            row_of.append(attrs["href"][1:])
        assert set(row_of) <= set(parser.ids)
    return parser
