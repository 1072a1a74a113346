"""Classes as marking would leave them, without marking: verdicts, gradebook, where hand-ins came from."""

import csv
import io
import json
import shutil
from dataclasses import asdict, replace
from html.parser import HTMLParser

import nbformat
from our_course import COURSE, lab

from autograder.authoring.lab import read_labs
from autograder.cells import id_of
from autograder.course import Course
from autograder.files import write
from autograder.grading.intake import Origin
from autograder.grading.marking import Marked
from autograder.grading.marking.mark import release_for_marking
from autograder.grading.nbgrader.gradebook import Book
from autograder.grading.register import evidence
from autograder.grading.register.classroom import Submission
from autograder.grading.register.policy import read_policy
from autograder.grading.reports.marks import Mark
from autograder.grading.reports.page import write_report
from autograder.grading.run.pool import Options
from autograder.results import Kind, Result, Verdict

LAB = "qkv-attention"
EVIL = "<script>alert(1)</script>"


def policy_of(course=COURSE):
    return read_policy(course, read_labs(course))


def with_policy(classroom, policy=None, **of_lab):
    """The classroom of the same course with other settings in course.toml."""
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
    kind=Kind.JUDGED,
    **more,
):
    more |= {"misconception": misconception, "message": message, "seconds": seconds, "kind": kind}
    score = {Verdict.PASS: points, Verdict.MANUAL: None, Verdict.FAULT: None}.get(verdict, 0)
    return Result(
        student=student, lab=LAB, exercise=exercise, score=score, max_score=points, verdict=verdict, **more
    )


def handin(student, rows, scores=None, notes=(), **mark):
    scores = scores or {r.exercise: r.score for r in rows}
    points = {r.exercise: r.max_score for r in rows}
    mark |= {"rows": tuple(rows), "notes": tuple(notes)}
    return Mark(student=student, lab=LAB, scores=scores, points=points, **mark)


def results(
    student, wrong=(), message="", notes=(), answer="An answer.", misconception=None, seed=1, **facts
):
    """A `Marked` as the grader would make it: all right but the exercises in `wrong`."""
    notebook = nbformat.from_dict(json.loads(json.dumps(release_for_marking(lab(LAB)))))
    rows, answers = [], {}
    for cell in notebook.cells:
        grader = cell.metadata.get("nbgrader", {})
        exercise = lab(LAB).by_test.get(id_of(cell))
        if cell.cell_type == "markdown" and grader.get("solution"):
            cell.source = answer
        if grader.get("solution"):
            of = lab(LAB).by_answer.get(id_of(cell))
            answers[of.name if of else id_of(cell)] = cell.source
        if grader.get("grade"):
            name = exercise.name if exercise else id_of(cell)
            verdict = Verdict.MANUAL if not exercise else Verdict.WRONG if name in wrong else Verdict.PASS
            bad = verdict is Verdict.WRONG
            points = grader["points"]
            said = {"misconception": misconception, **facts} if bad else {}
            rows.append(row(student, name, verdict, message=message, points=points, **said))
    return Marked(tuple(rows), notebook, tuple(notes), seed, answers)


def fill(classroom, of_students, gradebook=None, timestamp=None):
    """Keep these results ({student: Marked}), and write them into a copy of the gradebook."""
    for student, marked in of_students.items():
        submission = Submission(student, LAB, b"", "", timestamp)
        evidence.keep(classroom, submission, marked, lab(LAB), Options())
        (classroom.submitted / student / LAB).mkdir(parents=True, exist_ok=True)
        write(classroom.notebook_path(student, LAB), json.dumps(marked.notebook))
    if gradebook:
        if not (classroom.root / "gradebook.db").exists():
            shutil.copy(gradebook, classroom.root)
        with Book(classroom) as book:
            for student, marked in of_students.items():
                book.record(Submission(student, LAB, b"", "", timestamp), marked)


def came_from(classroom, student, platform, **facts):
    """Note, as `collect` does, where a student's hand-in came from."""
    origin = Origin(platform=platform, **facts)
    path = classroom.root / "collected" / student / f"{LAB}.json"
    write(path, json.dumps({"version": 1, **asdict(origin)}))


def enrol(classroom, text):
    write(classroom.root / "roster.csv", text)


def by_hand(classroom, student, score, comment=None, question="explain-flat"):
    """What an instructor does in the formgrader."""
    from nbgrader.api import Gradebook

    with Gradebook(classroom.db, COURSE.id) as book:
        notebook = book.find_submission(LAB, student).notebooks[0]
        grade = next(g for g in notebook.grades if g.name == question)
        grade.manual_score, grade.needs_manual_grade = score, score is None
        if comment:
            next(c for c in notebook.comments if c.name == question).manual_comment = comment
        book.db.commit()


def reported(classroom, **options):
    """The class in one page, as HTML."""
    write_report(classroom, **options)
    return (classroom.report / "index.html").read_text("utf-8")


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


class Balance(HTMLParser):
    """Which elements are left open, or closed without having been opened."""

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
        named = attrs.get("aria-labelledby", "").split()
        if attrs.get("href", "").startswith("#"):
            named.append(attrs["href"][1:])
        assert set(named) <= set(parser.ids)
    return parser
