"""Tests of the result store: results are cached, marks are computed at each run."""

import json
import re
import shutil
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

import command
import nbformat
import pytest
from nbgrader.api import Gradebook
from our_course import COURSE
from our_course import lab as our_lab

from autograder.core.notebook_cells import get_grade_id
from autograder.core.results import Verdict
from autograder.gradebook import result_store
from autograder.gradebook.classroom import Classroom, Submission
from autograder.gradebook.graded_submission import GradingOptions
from autograder.grading.grade_submission import grade_unreadable_submission
from autograder.sandbox.choice import explain_unavailability

pytestmark = pytest.mark.skipif(bool(explain_unavailability()), reason=explain_unavailability())

LAB, OTHER_LAB = "first-steps", "second-lab"
EXERCISE = "mean_of_first_steps"
EXPLAIN = "explain_mean"  # as an imported course may call it, with an underscore
STUDENTS = ["ada", "bob", "cleo", "dan"]


def autograder(folder, *arguments):
    return command.autograder(*arguments, cwd=folder, trials=False)


def submit(course, student, answer=None, words="In my own words.", submitted_at=None, lab=LAB):
    notebook = nbformat.read(course / "solutions" / lab / f"{lab}.ipynb", as_version=4)
    for cell in notebook.cells:
        if get_grade_id(cell) == EXPLAIN:
            cell.source = f"{student}: {words}" if words else ""
        if answer and get_grade_id(cell) == EXERCISE.replace("_", "-"):
            cell.source = f"def {EXERCISE}(numbers):\n    return {answer}"
    folder = course / "classroom" / "submitted" / student / lab
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / f"{lab}.ipynb")
    if submitted_at:
        (folder / "timestamp.txt").write_text(f"{submitted_at:%Y-%m-%d %H:%M:%S} UTC\n")


def grade(course, *arguments):
    """Return the counts of graded and cached submissions, and rows by student and exercise."""
    ran = autograder(course, "grade", "--json", "-", *arguments)
    assert ran.returncode == 0, ran.stderr
    graded_count, cached_count = re.search(
        r"(\d+) submissions? marked, (\d+) unchanged",
        ran.stderr,
    ).groups()
    rows = {(r["student"], r["exercise"]): r for r in map(json.loads, ran.stdout.splitlines())}
    return int(graded_count), int(cached_count), rows


class GradebookRow(NamedTuple):
    """Marks in the gradebook for one student's submission."""

    score: float
    penalty: float
    manual_score: float | None
    needs_manual_grade: bool


def read_gradebook(course, student, lab=LAB):
    with Gradebook(f"sqlite:///{course}/classroom/gradebook.db", course.name) as book:
        submission = book.find_submission_notebook(lab, lab, student)
        explain = next(g for g in submission.grades if g.name == EXPLAIN)
        return GradebookRow(
            score=submission.score,
            penalty=submission.late_submission_penalty or 0,
            manual_score=explain.manual_score,
            needs_manual_grade=explain.needs_manual_grade,
        )


def give_manual_mark(course, student, score):
    with Gradebook(f"sqlite:///{course}/classroom/gradebook.db", course.name) as book:
        submission = book.find_submission_notebook(LAB, LAB, student)
        explain = next(g for g in submission.grades if g.name == EXPLAIN)
        explain.manual_score, explain.needs_manual_grade = score, False
        comment = next(c for c in submission.comments if c.name == EXPLAIN)
        comment.manual_comment = "Well put."
        book.db.commit()


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    folder = tmp_path_factory.mktemp("course") / "statistics"
    for arguments in (["new", "course", folder], ["new", "lab", OTHER_LAB], ["build"]):
        if arguments == ["build"]:
            path = folder / "solutions" / LAB / f"{LAB}.ipynb"
            path.write_text(
                path.read_text().replace('"explain-mean-of-first-steps"', f'"{EXPLAIN}"')
            )
        ran = autograder(
            folder if arguments[0] != "new" or arguments[1] == "lab" else folder.parent, *arguments
        )
        assert ran.returncode == 0, ran.stderr
    due = datetime(2027, 1, 31, 18)
    submit(course=folder, student="ada", submitted_at=due - timedelta(hours=5))
    submit(
        course=folder,
        student="bob",
        answer="float(np.sum(numbers))",
        submitted_at=due - timedelta(hours=1),
    )
    submit(course=folder, student="cleo", submitted_at=due + timedelta(hours=30))
    submit(course=folder, student="dan", submitted_at=due + timedelta(hours=30))
    assert grade(folder)[:2] == (4, 0)
    for student in STUDENTS:
        give_manual_mark(folder, student, 1.5)
    return folder


def with_a_due_date(course):
    """Add a due date and a penalty of a tenth a day; return the text of course.toml."""
    settings = (
        (course / "course.toml")
        .read_text()
        .replace(
            "penalty_per_day = 0.0",
            "penalty_per_day = 0.1",
        )
    )
    due = f"\n[lab.{LAB}]\ndue = 2027-01-31T18:00:00\n"
    settings += due if due not in settings else ""
    (course / "course.toml").write_text(settings)
    return settings


@pytest.fixture
def copy(course, tmp_path):
    """A copy of the graded class, for a test that changes it."""
    return shutil.copytree(course, tmp_path / course.name)


def add_misconception(course, lab, exercise):
    path = course / "solutions" / lab / f"{exercise}.py"
    path.write_text(
        f"{path.read_text()}\n\n"
        f"@{exercise}.misconception(means='You took the first number.', nudge='And the others?')\n"
        "def only_the_first(numbers):\n    return float(numbers[0])\n"
    )


def test_the_gradebook_has_the_marks_of_the_code_and_those_of_a_person(course):
    right = GradebookRow(score=3.5, penalty=0, manual_score=1.5, needs_manual_grade=False)
    wrong = right._replace(score=1.5)
    rows = {student: read_gradebook(course, student) for student in STUDENTS}
    assert rows == {"ada": right, "bob": wrong, "cleo": right, "dan": right}


@pytest.mark.long
def test_another_lab_makes_no_result_stale(copy):
    autograder(copy, "new", "lab", "third-lab")
    assert autograder(copy, "build", "third-lab").returncode == 0
    assert grade(copy)[:2] == (0, 4)


def test_a_misconception_of_another_lab_makes_no_result_stale(copy):
    add_misconception(copy, OTHER_LAB, "mean_of_second_lab")
    assert grade(copy)[:2] == (0, 4)


@pytest.mark.long
def test_a_misconception_of_this_lab_makes_its_results_stale_and_manual_marks_stay(copy):
    add_misconception(copy, LAB, EXERCISE)
    assert grade(copy)[:2] == (4, 0)
    rows = [read_gradebook(copy, student) for student in STUDENTS]
    assert [row.manual_score for row in rows] == [1.5] * 4
    assert not any(row.needs_manual_grade for row in rows)


def test_a_comment_and_the_points_of_an_exercise_decide_no_verdict(copy):
    path = copy / "solutions" / LAB / f"{EXERCISE}.py"
    path.write_text("# A comment.\n" + path.read_text().replace("points=2", "points=4"))
    graded_count, cached_count, rows = grade(copy)
    assert (graded_count, cached_count) == (0, 4)
    assert rows["ada", EXERCISE]["score"] == rows["ada", EXERCISE]["max_score"] == 4
    assert read_gradebook(copy, "ada").score == 4 + 1.5
    assert read_gradebook(copy, "bob").score == 0 + 1.5


def test_a_due_date_and_an_extension_count_at_the_next_run(copy):
    with_a_due_date(copy)
    assert grade(copy)[:2] == (0, 4)
    assert read_gradebook(copy, "ada").penalty == 0
    for student in ("cleo", "dan"):  # two days begun, each a tenth
        assert read_gradebook(copy, student).penalty == pytest.approx(0.2 * 3.5)
    with Gradebook(f"sqlite:///{copy}/classroom/gradebook.db", copy.name) as book:
        book.find_submission(LAB, "dan").extension = timedelta(days=2)
        book.db.commit()
    assert grade(copy)[:2] == (0, 4)
    assert read_gradebook(copy, "dan").penalty == 0
    assert read_gradebook(copy, "cleo").penalty == pytest.approx(0.2 * 3.5)


@pytest.mark.long
def test_the_course_can_give_an_exercise_other_points_or_drop_it(copy):
    settings = with_a_due_date(copy)
    (copy / "course.toml").write_text(settings + f"points = {{ {EXERCISE} = 3 }}\n")
    assert grade(copy)[:2] == (0, 4)
    assert read_gradebook(copy, "ada").score == 3 + 1.5
    (copy / "course.toml").write_text(settings + f'dropped = ["{EXERCISE}"]\n')
    graded_count, cached_count, rows = grade(copy)
    assert (graded_count, cached_count) == (0, 4)
    assert rows["ada", EXERCISE]["max_score"] == 0
    assert [read_gradebook(copy, student).score for student in STUDENTS] == [1.5] * 4
    assert "settings" not in autograder(copy, "grade").stderr


@pytest.mark.long
def test_a_manual_mark_belongs_to_the_words_of_an_answer(copy):
    submit(copy, "bob", words="Better words.")
    graded_count, cached_count, rows = grade(copy)
    assert (graded_count, cached_count) == (1, 3)
    assert rows["bob", EXERCISE]["verdict"] == "pass"
    waiting = GradebookRow(score=2, penalty=0, manual_score=None, needs_manual_grade=True)
    assert read_gradebook(copy, "bob") == waiting
    with Gradebook(f"sqlite:///{copy}/classroom/gradebook.db", copy.name) as book:
        notebook = book.find_submission_notebook(LAB, LAB, "bob")
        message = next(c for c in notebook.comments if c.name == EXPLAIN)
        assert (
            "For another answer a person gave 1.5 of 2 points: “Well put.”" in message.auto_comment
        )
        assert message.manual_comment is None
    assert [read_gradebook(copy, student).manual_score for student in ("ada", "cleo", "dan")] == [
        1.5
    ] * 3

    # Replaced once more, in its code only: the new mark belongs to the words, which stay.
    give_manual_mark(copy, "bob", 2)
    submit(copy, "bob", answer="float(np.mean(numbers))", words="Better words.")
    assert grade(copy)[:2] == (1, 3)
    graded = GradebookRow(score=2 + 2, penalty=0, manual_score=2, needs_manual_grade=False)
    assert read_gradebook(copy, "bob") == graded

    # With the first words again, their mark comes back; the mark of the others waits for them.
    submit(copy, "bob")
    assert grade(copy)[:2] == (1, 3)
    assert read_gradebook(copy, "bob").manual_score == 1.5
    submit(copy, "bob", words="Better words.")
    grade(copy)
    assert read_gradebook(copy, "bob").manual_score == 2

    # Nothing is written any more: nothing is to be marked.
    submit(copy, "bob", words=None)
    grade(copy)
    blank = GradebookRow(score=2, penalty=0, manual_score=None, needs_manual_grade=False)
    assert read_gradebook(copy, "bob") == blank


@pytest.mark.long
def test_force_grades_all_again_and_manual_marks_stay(copy):
    assert grade(copy, "--force")[:2] == (4, 0)
    rows = [read_gradebook(copy, student) for student in STUDENTS]
    assert [row.manual_score for row in rows] == [1.5] * 4
    assert not any(row.needs_manual_grade for row in rows)


@pytest.mark.long
def test_a_replaced_submission_takes_its_own_time_with_it(course, tmp_path):
    course = shutil.copytree(course, tmp_path / course.name)
    with_a_due_date(course)
    submit(course, "eve", submitted_at=datetime(2027, 2, 9, 12))
    grade(course)
    assert read_gradebook(course, "eve")[1] > 0
    (course / "classroom" / "submitted" / "eve" / LAB / "timestamp.txt").unlink()
    grade(course)
    assert read_gradebook(course, "eve")[1] == 0
    assert not (course / "classroom" / "autograded" / "eve" / LAB / "timestamp.txt").exists()


@pytest.mark.parametrize(
    ("verdict", "options", "is_reused"),
    [
        ("pass", GradingOptions(), True),
        ("pass", GradingOptions(follow_through=False), False),
        ("pass", GradingOptions(sandbox="none"), True),
        ("timeout", GradingOptions(), True),
        # A class of two sandboxes is one class
        ("timeout", GradingOptions(sandbox="webassembly"), True),
        ("timeout", GradingOptions(sandbox="none"), False),  # a limit decided it
        ("crash", GradingOptions(sandbox="none"), False),
        ("error", GradingOptions(sandbox="none"), True),
    ],
)
def test_how_it_was_run_matters_where_it_can(tmp_path, verdict, options, is_reused):
    place, submission = (
        Classroom(
            tmp_path,
            COURSE,
        ),
        Submission("ada", "qkv-attention", b"{}", "", None),
    )
    graded_submission = grade_unreadable_submission(our_lab("qkv-attention"), "")
    graded_submission = replace(
        graded_submission,
        results=(
            replace(graded_submission.results[0], verdict=Verdict(verdict)),
            *graded_submission.results[1:],
        ),
    )
    fingerprint = result_store.fingerprint_submission(
        submission, our_lab("qkv-attention"), GradingOptions()
    )
    result_store.store_result(place, submission, graded_submission, fingerprint)
    assert (
        result_store.load_result(place, submission, our_lab("qkv-attention"), options) is not None
    ) == is_reused
