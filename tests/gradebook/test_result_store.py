"""Tests of the result store: results are cached, marks are computed at each run."""

import json
import re
import shutil
from dataclasses import replace
from datetime import datetime, timedelta

import command
import nbformat
import pytest
from nbgrader.api import Gradebook
from our_course import COURSE
from our_course import lab as our_lab

from autograder.core.notebook_cells import cell_grade_id
from autograder.core.results import Verdict
from autograder.gradebook import result_store
from autograder.gradebook.classroom import Classroom, Submission
from autograder.gradebook.graded_submission import GradingOptions
from autograder.grading.grade_submission import grade_unreadable_submission
from autograder.sandbox.choice import why_unavailable

pytestmark = pytest.mark.skipif(bool(why_unavailable()), reason=why_unavailable())

LAB, OTHER_LAB = "first-steps", "second-lab"
EXERCISE = "mean_of_first_steps"
EXPLAIN = "explain-mean-of-first-steps"
STUDENTS = ["ada", "bob", "cleo", "dan"]


def autograder(folder, *arguments):
    return command.autograder(*arguments, cwd=folder, here=True)


def submit(course, student, answer=None, words="In my own words.", submitted_at=None, lab=LAB):
    notebook = nbformat.read(course / "solutions" / lab / f"{lab}.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell_grade_id(cell) == EXPLAIN:
            cell.source = f"{student}: {words}"
        if answer and cell_grade_id(cell) == EXERCISE.replace("_", "-"):
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


def read_gradebook(course, student, lab=LAB):
    """Return the gradebook's score, penalty, manual mark and need of manual grading."""
    with Gradebook(f"sqlite:///{course}/classroom/gradebook.db", course.name) as book:
        submission = book.find_submission_notebook(lab, lab, student)
        explain = next(g for g in submission.grades if g.name == EXPLAIN)
        return (
            submission.score,
            submission.late_submission_penalty or 0,
            explain.manual_score,
            explain.needs_manual_grade,
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


@pytest.mark.long
def test_the_story_of_a_class(course):
    """A term, step by step: each step checks the graded submissions and the marks."""
    assert [read_gradebook(course, s) for s in STUDENTS] == [
        (3.5, 0, 1.5, False),
        (1.5, 0, 1.5, False),
        (3.5, 0, 1.5, False),
        (3.5, 0, 1.5, False),
    ]

    # Another lab is added.
    autograder(course, "new", "lab", "third-lab")
    assert autograder(course, "build", "third-lab").returncode == 0
    assert grade(course)[:2] == (0, 4)

    # A misconception is added to another lab, then one to this lab.
    misconception = (
        "\n\n@{0}.misconception(means='You took the first number.', nudge='And the others?')\n"
        "def only_the_first(numbers):\n    return float(numbers[0])\n"
    )
    other_file = course / "solutions" / OTHER_LAB / "mean_of_second_lab.py"
    other_file.write_text(other_file.read_text() + misconception.format("mean_of_second_lab"))
    assert grade(course)[:2] == (0, 4)
    exercise_file = course / "solutions" / LAB / f"{EXERCISE}.py"
    exercise_file.write_text(exercise_file.read_text() + misconception.format(EXERCISE))
    assert grade(course)[:2] == (4, 0)
    # The answers are the same
    assert [read_gradebook(course, s)[2:] for s in STUDENTS] == [(1.5, False)] * 4

    # A comment, the points of the definition, and prose decide no verdict.
    exercise_file.write_text(
        "# A comment.\n" + exercise_file.read_text().replace("points=2", "points=4"),
    )
    graded_count, cached_count, rows = grade(course)
    assert (graded_count, cached_count) == (0, 4)
    assert rows["ada", EXERCISE]["score"] == rows["ada", EXERCISE]["max_score"] == 4
    assert read_gradebook(course, "ada") == (5.5, 0, 1.5, False)
    assert read_gradebook(course, "bob") == (1.5, 0, 1.5, False)

    # A due date, a penalty and an extension.
    settings = with_a_due_date(course)
    assert grade(course)[:2] == (0, 4)
    assert read_gradebook(course, "ada")[1] == 0
    assert read_gradebook(course, "cleo")[1] == pytest.approx(0.2 * 5.5)  # two days begun
    with Gradebook(f"sqlite:///{course}/classroom/gradebook.db", course.name) as book:
        submission = book.find_submission(LAB, "dan")
        submission.extension = timedelta(days=2)
        book.db.commit()
    assert grade(course)[:2] == (0, 4)
    assert read_gradebook(course, "dan")[1] == 0
    assert read_gradebook(course, "cleo")[1] == pytest.approx(1.1)

    # The course says other points, and drops the exercise.
    (course / "course.toml").write_text(settings + f"points = {{ {EXERCISE} = 3 }}\n")
    assert grade(course)[:2] == (0, 4)
    assert read_gradebook(course, "ada")[0] == 4.5
    (course / "course.toml").write_text(settings + f'dropped = ["{EXERCISE}"]\n')
    graded_count, cached_count, rows = grade(course)
    assert (graded_count, cached_count) == (0, 4)
    assert rows["ada", EXERCISE]["max_score"] == 0
    assert [read_gradebook(course, s)[0] for s in STUDENTS] == [1.5] * 4
    assert all("settings" not in note for note in autograder(course, "grade").stderr.splitlines())
    (course / "course.toml").write_text(settings)

    # One submission is replaced: its code is better now, its words are other words.
    submit(course, "bob", words="Better words.")
    graded_count, cached_count, rows = grade(course)
    assert (graded_count, cached_count) == (1, 3)
    assert rows["bob", EXERCISE]["verdict"] == "pass"
    assert read_gradebook(course, "bob") == (4, 0, None, True)
    with Gradebook(f"sqlite:///{course}/classroom/gradebook.db", course.name) as book:
        notebook = book.find_submission_notebook(LAB, LAB, "bob")
        message = next(c for c in notebook.comments if c.name == EXPLAIN)
        assert "For an earlier answer a person gave 1.5 of 2 points: “Well put.”" in message.auto_comment
        assert message.manual_comment is None
    assert [read_gradebook(course, s)[2:] for s in ("ada", "cleo", "dan")] == [(1.5, False)] * 3

    # It is replaced once more, in its code only: the mark that a person gives now belongs to the
    # words.
    give_manual_mark(course, "bob", 2)
    submit(course, "bob", answer="float(np.mean(numbers))", words="Better words.")
    assert grade(course)[:2] == (1, 3)
    assert read_gradebook(course, "bob") == (6, 0, 2, False)

    # With --force everything is judged again, and no mark by hand waits for that.
    assert grade(course, "--force")[:2] == (4, 0)
    assert [read_gradebook(course, s)[2:] for s in STUDENTS] == [
        (1.5, False),
        (2, False),
        (1.5, False),
        (1.5, False),
    ]


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
    result_store.store_result(
        place, submission, graded_submission, our_lab("qkv-attention"), GradingOptions()
    )
    assert (
        result_store.load_result(place, submission, our_lab("qkv-attention"), options) is not None
    ) == is_reused
