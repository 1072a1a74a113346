"""Evidence is kept, marks are computed: what is judged again, which hand marks wait, and today's marks."""

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

from autograder.cells import id_of
from autograder.grading.marking import unmarkable
from autograder.grading.register import evidence
from autograder.grading.register.classroom import Classroom, Submission
from autograder.grading.run.pool import Options
from autograder.grading.sandbox.choice import why_unavailable
from autograder.results import Verdict

pytestmark = pytest.mark.skipif(bool(why_unavailable()), reason=why_unavailable())

LAB, OTHER = "first-steps", "second-lab"
EXERCISE = "mean_of_first_steps"
EXPLAIN = "explain-mean-of-first-steps"
STUDENTS = ["ada", "bob", "cleo", "dan"]


def autograder(folder, *arguments):
    return command.autograder(*arguments, cwd=folder, here=True)


def hand_in(course, student, answer=None, words="In my own words.", at=None, lab=LAB):
    notebook = nbformat.read(course / "solutions" / lab / f"{lab}.ipynb", as_version=4)
    for cell in notebook.cells:
        if id_of(cell) == EXPLAIN:
            cell.source = f"{student}: {words}"
        if answer and id_of(cell) == EXERCISE.replace("_", "-"):
            cell.source = f"def {EXERCISE}(numbers):\n    return {answer}"
    folder = course / "classroom" / "submitted" / student / lab
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / f"{lab}.ipynb")
    if at:
        (folder / "timestamp.txt").write_text(f"{at:%Y-%m-%d %H:%M:%S} UTC\n")


def grade(course, *arguments):
    """(how many were judged, how many were kept, rows by student and exercise)."""
    ran = autograder(course, "grade", "--json", "-", *arguments)
    assert ran.returncode == 0, ran.stderr
    judged, kept = re.search(r"(\d+) hand-ins? marked, (\d+) unchanged", ran.stderr).groups()
    rows = {(r["student"], r["exercise"]): r for r in map(json.loads, ran.stdout.splitlines())}
    return int(judged), int(kept), rows


def booked(course, student, lab=LAB):
    """(score, penalty, the mark by hand, whether a person is awaited) in the gradebook."""
    with Gradebook(f"sqlite:///{course}/classroom/gradebook.db", course.name) as book:
        submission = book.find_submission_notebook(lab, lab, student)
        explain = next(g for g in submission.grades if g.name == EXPLAIN)
        return (
            submission.score,
            submission.late_submission_penalty or 0,
            explain.manual_score,
            explain.needs_manual_grade,
        )


def mark_by_hand(course, student, score):
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
    for typed in (["new", "course", folder], ["new", "lab", OTHER], ["build"]):
        ran = autograder(folder if typed[0] != "new" or typed[1] == "lab" else folder.parent, *typed)
        assert ran.returncode == 0, ran.stderr
    due = datetime(2027, 1, 31, 18)
    hand_in(course=folder, student="ada", at=due - timedelta(hours=5))
    hand_in(course=folder, student="bob", answer="float(np.sum(numbers))", at=due - timedelta(hours=1))
    hand_in(course=folder, student="cleo", at=due + timedelta(hours=30))
    hand_in(course=folder, student="dan", at=due + timedelta(hours=30))
    assert grade(folder)[:2] == (4, 0)
    for student in STUDENTS:
        mark_by_hand(folder, student, 1.5)
    return folder


def with_a_due_date(course):
    """Late hand-ins lose a tenth a day from now on; what course.toml says then."""
    settings = (course / "course.toml").read_text().replace("penalty_per_day = 0.0", "penalty_per_day = 0.1")
    due = f"\n[lab.{LAB}]\ndue = 2027-01-31T18:00:00\n"
    settings += due if due not in settings else ""
    (course / "course.toml").write_text(settings)
    return settings


@pytest.mark.long
def test_the_story_of_a_class(course):
    """In the order of a term; each step says what is judged again and what the marks are."""
    assert [booked(course, s) for s in STUDENTS] == [
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
    added = (
        "\n\n@{0}.misconception(means='You took the first number.', nudge='And the others?')\n"
        "def only_the_first(numbers):\n    return float(numbers[0])\n"
    )
    other = course / "solutions" / OTHER / "mean_of_second_lab.py"
    other.write_text(other.read_text() + added.format("mean_of_second_lab"))
    assert grade(course)[:2] == (0, 4)
    own = course / "solutions" / LAB / f"{EXERCISE}.py"
    own.write_text(own.read_text() + added.format(EXERCISE))
    assert grade(course)[:2] == (4, 0)
    assert [booked(course, s)[2:] for s in STUDENTS] == [(1.5, False)] * 4  # the answers are the same

    # A comment, the points of the definition, and prose decide no verdict.
    own.write_text("# A comment.\n" + own.read_text().replace("points=2", "points=4"))
    judged, kept, rows = grade(course)
    assert (judged, kept) == (0, 4)
    assert rows["ada", EXERCISE]["score"] == rows["ada", EXERCISE]["max_score"] == 4
    assert booked(course, "ada") == (5.5, 0, 1.5, False)
    assert booked(course, "bob") == (1.5, 0, 1.5, False)

    # A due date, a penalty and an extension.
    settings = with_a_due_date(course)
    assert grade(course)[:2] == (0, 4)
    assert booked(course, "ada")[1] == 0
    assert booked(course, "cleo")[1] == pytest.approx(0.2 * 5.5)  # two days begun
    with Gradebook(f"sqlite:///{course}/classroom/gradebook.db", course.name) as book:
        submission = book.find_submission(LAB, "dan")
        submission.extension = timedelta(days=2)
        book.db.commit()
    assert grade(course)[:2] == (0, 4)
    assert booked(course, "dan")[1] == 0
    assert booked(course, "cleo")[1] == pytest.approx(1.1)

    # The course says other points, and drops the exercise.
    (course / "course.toml").write_text(settings + f"points = {{ {EXERCISE} = 3 }}\n")
    assert grade(course)[:2] == (0, 4)
    assert booked(course, "ada")[0] == 4.5
    (course / "course.toml").write_text(settings + f'dropped = ["{EXERCISE}"]\n')
    judged, kept, rows = grade(course)
    assert (judged, kept) == (0, 4)
    assert rows["ada", EXERCISE]["max_score"] == 0
    assert [booked(course, s)[0] for s in STUDENTS] == [1.5] * 4
    assert all("settings" not in note for note in autograder(course, "grade").stderr.splitlines())
    (course / "course.toml").write_text(settings)

    # One hand-in is replaced: its code is better now, its words are other words.
    hand_in(course, "bob", words="Better words.")
    judged, kept, rows = grade(course)
    assert (judged, kept) == (1, 3)
    assert rows["bob", EXERCISE]["verdict"] == "pass"
    assert booked(course, "bob") == (4, 0, None, True)
    with Gradebook(f"sqlite:///{course}/classroom/gradebook.db", course.name) as book:
        notebook = book.find_submission_notebook(LAB, LAB, "bob")
        said = next(c for c in notebook.comments if c.name == EXPLAIN)
        assert "For an earlier answer a person gave 1.5 of 2 points: “Well put.”" in said.auto_comment
        assert said.manual_comment is None
    assert [booked(course, s)[2:] for s in ("ada", "cleo", "dan")] == [(1.5, False)] * 3

    # It is replaced once more, in its code only: the mark that a person gives now belongs to the words.
    mark_by_hand(course, "bob", 2)
    hand_in(course, "bob", answer="float(np.mean(numbers))", words="Better words.")
    assert grade(course)[:2] == (1, 3)
    assert booked(course, "bob") == (6, 0, 2, False)

    # With --force everything is judged again, and no mark by hand waits for that.
    assert grade(course, "--force")[:2] == (4, 0)
    assert [booked(course, s)[2:] for s in STUDENTS] == [(1.5, False), (2, False), (1.5, False), (1.5, False)]


def test_a_replaced_hand_in_takes_its_own_time_with_it(course, tmp_path):
    course = shutil.copytree(course, tmp_path / course.name)
    with_a_due_date(course)
    hand_in(course, "eve", at=datetime(2027, 2, 9, 12))
    grade(course)
    assert booked(course, "eve")[1] > 0
    (course / "classroom" / "submitted" / "eve" / LAB / "timestamp.txt").unlink()
    grade(course)
    assert booked(course, "eve")[1] == 0
    assert not (course / "classroom" / "autograded" / "eve" / LAB / "timestamp.txt").exists()


@pytest.mark.parametrize(
    ("verdict", "now", "stands"),
    [
        ("pass", Options(), True),
        ("pass", Options(follow_through=False), False),
        ("pass", Options(sandbox="none"), True),
        ("timeout", Options(), True),
        ("timeout", Options(sandbox="webassembly"), True),  # a class of two sandboxes is one class
        ("timeout", Options(sandbox="none"), False),  # a limit decided it
        ("crash", Options(sandbox="none"), False),
        ("error", Options(sandbox="none"), True),
    ],
)
def test_how_it_was_run_matters_where_it_can(tmp_path, verdict, now, stands):
    place, submission = Classroom(tmp_path, COURSE), Submission("ada", "qkv-attention", b"{}", "", None)
    marked = unmarkable(our_lab("qkv-attention"), "")
    marked = replace(marked, rows=(replace(marked.rows[0], verdict=Verdict(verdict)), *marked.rows[1:]))
    evidence.keep(place, submission, marked, our_lab("qkv-attention"), Options())
    assert (evidence.kept(place, submission, our_lab("qkv-attention"), now) is not None) == stands
