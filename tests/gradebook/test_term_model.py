"""Random terms: marks and results of the engine against those of the model in term_model.py.

`make test` computes the marks of a hundred terms. `make test-all` computes those of two hundred,
and reads the marks of four more terms from a gradebook.
For more: `TERMS=10000 WHOLE_TERMS=100 pytest tests/gradebook/test_term_model.py`.
"""

import csv
import io
import json
import os
from dataclasses import replace
from datetime import UTC
from types import SimpleNamespace

import nbformat
import pytest
import term_model as model
from nbgrader.api import Gradebook
from our_course import COURSE

from autograder.core.files import write_file
from autograder.core.results import Result, Verdict
from autograder.gradebook.attempt_choice import find_best_attempt
from autograder.gradebook.class_list import ClassList
from autograder.gradebook.classroom import Classroom, Submission
from autograder.gradebook.deadlines import compute_timings, merge_deadlines
from autograder.gradebook.gradebook_writer import GradebookWriter, refresh_gradebook
from autograder.gradebook.graded_submission import GradedSubmission
from autograder.gradebook.policy import read_policy
from autograder.intake import Person
from autograder.reports.marks import Assignment, ClassMarks, Mark, read_marks
from autograder.reports.platform_csv import format_grades_csv
from autograder.reports.term import compute_terms, format_term_csv, read_term_rules

TERMS = int(os.environ.get("TERMS", 200))
TERMS_PER_TEST = 100
WHOLE_TERMS = int(os.environ.get("WHOLE_TERMS", 4))

pytestmark = pytest.mark.filterwarnings("ignore")


def to_naive(moment):
    return moment and moment.astimezone(UTC).replace(tzinfo=None)


def make_marks(facts) -> ClassMarks:
    """Return the engine's marks of a term, computed from course.toml, the roster and the attempts."""
    course = replace(COURSE, labs=model.LABS, policy=facts.policy, lab=facts.labs, term=facts.term)
    labs = {}
    for name in model.LABS:
        points = facts.points[name]
        exercises = {
            exercise: SimpleNamespace(name=exercise, points=points[exercise], parts={})
            for exercise in model.EXERCISES
        }
        questions = {model.QUESTION: points[model.QUESTION]}
        labs[name] = SimpleNamespace(name=name, exercises=exercises, manual_questions=questions)
    policy = read_policy(course, labs)
    people = {}
    for student in model.STUDENTS:
        extensions = {
            lab: text for (name, lab), text in facts.extensions.items() if name == student
        }
        times = {lab: text for (name, lab), text in facts.stated_times.items() if name == student}
        people[student] = Person(student=student, extension=extensions, submission_times=times)
    class_list = ClassList(people=people)
    gradebook_due = {lab: to_naive(due) for lab, due in facts.gradebook_due.items()}
    deadlines = merge_deadlines(policy, class_list, gradebook_due, facts.gradebook_extensions)
    chosen = {
        key: choose_attempt(facts, key, policy, class_list, deadlines) for key in facts.attempts
    }
    times = {key: to_naive(attempt.submitted_at) for key, attempt in chosen.items()}
    timings = compute_timings(policy, class_list, deadlines, times)
    marks = ClassMarks(
        students=people,
        labs={
            name: Assignment(name, None, sum(policy.points[name].values())) for name in model.LABS
        },
        submissions=frozenset(facts.attempts),
        policy=policy,
        class_list=class_list,
        deadlines=deadlines,
    )
    for key, attempt in chosen.items():
        marks.marks[key] = make_mark(facts, key, attempt, policy, timings[key])
    return marks


def choose_attempt(facts, key, policy, class_list, deadlines):
    attempts = facts.attempts[key]
    if not policy.best_attempt:
        return attempts[0]
    stated = class_list.read_roster_submission_times(policy)
    by_name = {}
    for number, attempt in enumerate(attempts):
        moment = stated.get(key) or to_naive(attempt.submitted_at)
        by_name[str(number)] = moment, dict.fromkeys(sorted(attempt.passed), 1.0)
    return attempts[int(find_best_attempt(key, by_name, policy, deadlines))]


def make_mark(facts, key, attempt, policy, timing) -> Mark:
    """Return a mark with the fields that are read from the gradebook."""
    scores, awaiting = {}, 0
    points = policy.points[key[1]]
    for name, worth in points.items():
        manual = facts.manual.get((*key, name))
        scores[name] = worth if name in attempt.passed else 0.0
        if name == model.QUESTION:
            scores[name] = None
            awaiting += manual is None and worth > 0
        if manual is not None:
            scores[name] = manual if worth else 0.0
        if worth and scores[name] is not None:
            scores[name] += facts.extra_credit.get((*key, name), 0.0)
    raw_score = sum(score or 0.0 for score in scores.values())
    late = timing.seconds_late if policy.count_days_late(timing.seconds_late) else 0.0
    return Mark(
        student=key[0],
        lab=key[1],
        scores=scores,
        points=points,
        awaiting_manual_count=awaiting,
        penalty=policy.compute_penalty(raw_score, timing),
        seconds_late=late,
        late_days_used=timing.late_days_used,
    )


def compare_marks(facts, marks: ClassMarks) -> None:
    """Compare every row of grades.csv and term.csv, and every deadline, with the model's."""
    expected_marks = model.compute_marks(facts)
    for student in model.STUDENTS:
        for lab in model.LABS:
            # In UTC: Python takes a local time that comes twice for unequal to any time of another zone.
            deadline = marks.find_deadline(student, lab)
            deadline = deadline and deadline.astimezone(UTC)
            assert deadline == model.find_deadline(facts, student, lab), (student, lab)
    rows = csv.DictReader(io.StringIO(format_grades_csv(marks)))
    for row in rows:
        key = (row["student_id"], row["assignment"])
        mark = expected_marks.get(key)
        if mark is None:
            assert (row["score"], row["state"]) == ("", "nothing submitted"), key
            continue
        assert set(marks.marks) == set(expected_marks)
        compare_row(row, mark)
        assert marks.marks[key].late_days_used == mark.late_days_used, key
    compare_term(facts, marks, expected_marks)


def compare_row(row, mark) -> None:
    """Compare a row of grades.csv with the model's mark: each number, and that they add up."""
    place = (row["student_id"], row["assignment"])
    raw, score = model.round_half_up(mark.raw), model.round_half_up(mark.score)
    expected = (float(raw), float(raw - score), float(mark.possible))
    found = tuple(
        float(row[name]) for name in ("raw_score", "late_submission_penalty", "max_score")
    )
    assert found == pytest.approx(expected, abs=1e-9), place
    assert row["score"] == (str(float(score)) if mark.is_complete else ""), place
    late = f"{mark.seconds_late / 3600:.1f}" if mark.seconds_late else ""
    assert row["hours_late"] == late, place


def compare_term(facts, marks, expected_marks) -> None:
    """Compare each row of term.csv with the model's result."""
    rules = read_term_rules(replace(COURSE, labs=model.LABS, term=facts.term))
    terms = compute_terms(rules, marks, facts.now)
    for row in csv.DictReader(io.StringIO(format_term_csv(terms, marks))):
        student = row["student_id"]
        result, grade, zeros, awaits = model.compute_result(facts, student, expected_marks)
        assert (row["result"], row["grade"]) == (result, grade), student
        assert bool(row["waits"]) == awaits, student
        if not facts.term.get("best"):
            assert set(filter(None, row["not_submitted"].split("; "))) == zeros, student


@pytest.mark.parametrize(
    "first",
    [
        0,
        *(
            pytest.param(first, marks=pytest.mark.long)
            for first in range(TERMS_PER_TEST, TERMS, TERMS_PER_TEST)
        ),
    ],
)
def test_random_terms_agree_with_the_model(first):
    for seed in range(first, min(first + TERMS_PER_TEST, TERMS)):
        facts = model.random_term(seed)
        try:
            compare_marks(facts, make_marks(facts))
        except AssertionError as error:
            raise AssertionError(f"term {seed}, {facts.policy}: {error}") from error


# Whole terms: the gradebook, the roster and the report's tables


class WrittenLab:
    """Lab of the model with a solution notebook, as far as the gradebook asks for it."""

    def __init__(self, name, points):
        self.name, self._points = name, points
        self.exercises = {}
        for exercise in model.EXERCISES:
            self.exercises[exercise] = SimpleNamespace(
                name=exercise, points=points[exercise], parts={}
            )
        self.manual_questions = {model.QUESTION: points[model.QUESTION]}
        self.solution_path = SimpleNamespace(read_bytes=lambda: b"")

    def find_item_of_cell(self, cell):
        return cell.removeprefix("test-")

    def read_solution(self):
        notebook = nbformat.v4.new_notebook()
        for name, points in self._points.items():
            is_test_call = name == model.QUESTION
            answer = {"grade_id": name, "grade": is_test_call, "solution": True, "locked": False}
            cell = nbformat.v4.new_code_cell("answer = 1")
            if is_test_call:
                cell = nbformat.v4.new_markdown_cell("An answer.")
                answer["points"] = points
            cell.metadata["nbgrader"] = answer | {"schema_version": 3, "task": False}
            notebook.cells.append(cell)
            if not is_test_call:
                test = {
                    "grade_id": f"test-{name}",
                    "grade": True,
                    "solution": False,
                    "locked": True,
                }
                cell = nbformat.v4.new_code_cell("assert answer")
                cell.metadata["nbgrader"] = test | {
                    "points": points,
                    "schema_version": 3,
                    "task": False,
                }
                notebook.cells.append(cell)
        return notebook


def write_roster(room, facts) -> None:
    headings = ["Login", "Extension", *(f"Extension {lab}" for lab in model.LABS)]
    headings += [f"Submitted {lab}" for lab in model.LABS]
    lines = [",".join(headings)]
    for student in model.STUDENTS:
        cells = [student, facts.extensions.get((student, ""), "")]
        cells += [facts.extensions.get((student, lab), "") for lab in model.LABS]
        cells += [facts.stated_times.get((student, lab), "") for lab in model.LABS]
        lines.append(",".join(cells))
    write_file(room.root / "roster.csv", "\n".join(lines) + "\n")


def make_graded_submission(facts, lab, attempt) -> GradedSubmission:
    rows = []
    for name, points in facts.points[lab].items():
        verdict, score = Verdict.WRONG, 0.0
        if name == model.QUESTION:
            verdict, score = Verdict.MANUAL, None
        elif name in attempt.passed:
            verdict, score = Verdict.PASS, points
        rows.append(Result(lab=lab, exercise=name, score=score, max_score=points, verdict=verdict))
    answers = dict.fromkeys(facts.points[lab], "an answer")
    return GradedSubmission(tuple(rows), nbformat.v4.new_notebook(), answers=answers)


def write_term(room, facts, labs, attempts) -> None:
    """Write a term as `collect`, `grade`, the formgrader and a person who marks would."""
    write_roster(room, facts)
    policy = read_policy(room.course, labs)
    with GradebookWriter(room) as writer:
        writer.save_labs(list(labs.values()), policy)
        for (student, lab), attempt in attempts.items():
            time = attempt.submitted_at and f"{attempt.submitted_at:%Y-%m-%d %H:%M:%S} UTC"
            write_file(room.submitted / student / lab / f"{lab}.ipynb", "{}")
            graded = make_graded_submission(facts, lab, attempt)
            write_file(room.result_path(student, lab), json.dumps(graded.to_fields()))
            writer.record_submission(
                Submission(student, lab, b"", "", time), graded.with_student(student)
            )
        for (student, lab, name), points in facts.manual.items():
            writer.record_marks_of_question(labs[lab], name, {student: (repr(points), "")})
    with Gradebook(room.db, room.course.id) as gradebook:
        for lab, due in facts.gradebook_due.items():
            if policy.due_dates[lab] is None:
                gradebook.find_assignment(lab).duedate = to_naive(due)
        for (student, lab), extension in facts.gradebook_extensions.items():
            gradebook.find_submission(lab, student).extension = extension
        for (student, lab, name), points in facts.extra_credit.items():
            cell_name = name if name == model.QUESTION else f"test-{name}"
            gradebook.find_grade(cell_name, lab, lab, student).extra_credit = points
        gradebook.db.commit()


@pytest.mark.long
@pytest.mark.parametrize("seed", range(WHOLE_TERMS))
def test_whole_terms_agree_with_the_model(tmp_path, monkeypatch, seed):
    facts = model.random_term(1_000_000 + seed)
    course = replace(COURSE, labs=model.LABS, policy=facts.policy, lab=facts.labs, term=facts.term)
    labs = {name: WrittenLab(name, facts.points[name]) for name in model.LABS}
    monkeypatch.setattr("autograder.reports.marks.read_labs", lambda course: labs)
    room = Classroom(tmp_path / "class", course)
    marks = make_marks(facts)
    attempts = {}
    for key in facts.attempts:
        attempts[key] = choose_attempt(facts, key, marks.policy, marks.class_list, marks.deadlines)
    write_term(room, facts, labs, attempts)
    policy = refresh_gradebook(room, labs)
    compare_marks(facts, read_marks(room, policy))
