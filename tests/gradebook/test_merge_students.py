"""Tests of `autograder merge`: a student with two folders gets one, with every mark."""

import shutil
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from command import autograder
from graded_class import LAB, by_hand, copy_gradebook, enrol, fill, results
from our_course import COURSE, lab

from autograder.core.files import write_file
from autograder.gradebook import merge_students
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.gradebook_records import (
    GradebookRecord,
    ReplacedAnswerMark,
    read_manual_marks_of_earlier_answers,
)
from autograder.gradebook.gradebook_writer import refresh_gradebook
from autograder.gradebook.merge_students import find_split_students, merge_split_students
from autograder.gradebook.nbgrader_db import open_gradebook
from autograder.reports.marks import read_marks

pytestmark = pytest.mark.filterwarnings("ignore")
ROSTER = "Name,Login\nAda Lovelace,ada\nBo Li,bo\n"
OLD, NEW = "2026-01-02 10:00:00 UTC", "2026-01-03 10:00:00 UTC"


def submit(classroom, student, time, bytes_of_notebook, **facts):
    """File a graded submission, as `collect` and `grade` would."""
    folder = classroom.submitted / student / LAB
    write_file(folder / f"{LAB}.ipynb", bytes_of_notebook)
    write_file(folder / "timestamp.txt", f"{time}\n")
    graded = {student: results(student, **facts)}
    fill(classroom, graded, gradebook=classroom.root / "gradebook.db", timestamp=time)


@pytest.fixture
def split(classroom, prepared):
    """Ada Lovelace and ada, whom the roster makes one, and Bo."""
    classroom.root.mkdir(parents=True)
    copy_gradebook(prepared, classroom)
    submit(classroom, "Ada Lovelace", OLD, b"old", wrong=["softmax"])
    by_hand(classroom, "Ada Lovelace", 2.5, "Well said.")
    submit(classroom, "bo", OLD, b"bo")
    enrol(classroom, ROSTER)
    return classroom


def marks_of(classroom):
    policy = refresh_gradebook(classroom, {LAB: lab(LAB)})
    return read_marks(classroom, policy).marks


def give_extensions(classroom, hours_by_student):
    with open_gradebook(classroom) as gradebook:
        for student, hours in hours_by_student.items():
            gradebook.find_submission(LAB, student).extension = timedelta(hours=hours)
        gradebook.db.commit()


def read_extension(classroom, student):
    with open_gradebook(classroom) as gradebook:
        return gradebook.find_submission(LAB, student).extension


def files_of(classroom):
    return {
        str(path.relative_to(classroom.root))
        for path in classroom.root.rglob("*")
        if path.is_file()
    }


@pytest.mark.long
def test_a_folder_of_another_lab_is_merged_with_its_mark(split):
    write_file(split.submitted / "ada" / "attention-masks" / "attention-masks.ipynb", b"other lab")
    write_file(split.results / "Ada Lovelace" / f"{LAB}.feedback", "printed")
    before = marks_of(split)["Ada Lovelace", LAB]
    assert find_split_students(split) == {"ada": ["Ada Lovelace"]}
    (sentence,) = merge_split_students(split)
    assert sentence == "'Ada Lovelace' and 'ada' are one student's: all is in 'ada' now."
    assert sorted(path.name for path in split.submitted.iterdir()) == ["ada", "bo"]
    assert sorted(path.name for path in (split.submitted / "ada").iterdir()) == [
        "attention-masks",
        LAB,
    ]
    marks = marks_of(split)
    assert set(marks) == {("ada", LAB), ("bo", LAB)}
    after = marks["ada", LAB]
    assert (after.scores, after.comments) == (before.scores, before.comments)
    assert list(merge_split_students(split)) == []
    assert not any("Ada Lovelace" in name for name in files_of(split))


@pytest.mark.parametrize("newer", ["ada", "Ada Lovelace"])
@pytest.mark.parametrize("answer", ["An answer.", "Another answer."])
def test_of_two_submissions_the_newer_counts_and_no_manual_mark_is_lost(split, newer, answer):
    time = NEW if newer == "ada" else "2026-01-01 10:00:00 UTC"
    submit(split, "ada", time, b"of ada", answer=answer)
    if newer == "Ada Lovelace":
        by_hand(split, "Ada Lovelace", None)
        by_hand(split, "ada", 2.5, "Well said.")
    older = "Ada Lovelace" if newer == "ada" else "ada"
    give_extensions(split, {older: 2})
    if answer == "An answer.":
        give_extensions(split, {newer: 1})
    list(merge_split_students(split))
    assert read_extension(split, "ada") == timedelta(hours=1 if answer == "An answer." else 2)
    kept = (split.submitted / "ada" / LAB / f"{LAB}.ipynb").read_bytes()
    assert kept == (b"of ada" if newer == "ada" else b"old")
    (earlier,) = (split.root / "submitted-earlier" / "ada" / LAB).glob("*.ipynb")
    assert earlier.read_bytes() == (b"old" if newer == "ada" else b"of ada")
    mark = marks_of(split)["ada", LAB]
    question = "explain-flat"
    if answer == "An answer.":
        assert (mark.scores[question], mark.comments[question]) == (2.5, "Well said.")
    else:
        assert mark.scores[question] is None
        assert read_manual_marks_of_earlier_answers(split, "ada", LAB)[
            question
        ] == ReplacedAnswerMark(2.5, "Well said.")
    assert mark.scores["softmax"] == (2 if newer == "ada" else 0)


def test_two_people_stay_two(split):
    enrol(split, "Name,Login\nAda Lovelace,lovelace\nAda Byron,ada\nBo Li,bo\n")
    submit(split, "ada", NEW, b"of ada")
    assert list(merge_split_students(split)) == []
    assert {student for student, _ in marks_of(split)} == {"Ada Lovelace", "ada", "bo"}


@pytest.mark.long
def test_an_interrupted_merge_goes_on(split, monkeypatch):
    """Stop the merge at each of its steps, run it again, and compare with one that was not stopped."""
    submit(split, "ada", NEW, b"of ada", answer="Another answer.")
    original = split.root.with_name("original")
    split.root.rename(original)
    outcomes, step = [], 0
    while True:
        room = Classroom(split.root, COURSE)
        shutil.rmtree(room.root, ignore_errors=True)
        shutil.copytree(original, room.root)
        with monkeypatch.context() as patch:
            counter = stop_at_step(patch, step)
            try:
                list(merge_split_students(room))
            except KeyboardInterrupt:
                list(merge_split_students(room))
        mark = marks_of(room)["ada", LAB]
        earlier = read_manual_marks_of_earlier_answers(room, "ada", LAB)
        notebooks = {name for name in files_of(room) if name.endswith((".ipynb", ".txt"))}
        outcomes.append((mark.scores, earlier, notebooks))
        if counter[0] <= step:
            break
        step += 1
    assert step > 5 and all(outcome == outcomes[-1] for outcome in outcomes)


def stop_at_step(patch, step):
    """Let the file operation number `step` raise KeyboardInterrupt, and count them."""
    counter = [0]
    for name in ("replace", "rename", "unlink", "rmdir"):
        operation = getattr(Path, name)

        def interrupted(path, *arguments, operation=operation, **options):
            counter[0] += 1
            if counter[0] == step + 1:
                raise KeyboardInterrupt
            return operation(path, *arguments, **options)

        patch.setattr(Path, name, interrupted)
    return counter


def test_the_command(split):
    submit(split, "ada", NEW, b"of ada")
    outcome = autograder("merge", "--classroom", split.root)
    assert outcome.returncode == 0, outcome.stderr
    assert "'Ada Lovelace' and 'ada' are one student's" in outcome.stdout
    assert "1 student with several folders merged. Run `autograder grade` next." in outcome.stderr
    again = autograder("merge", "--classroom", split.root)
    assert "0 students with several folders merged." in again.stderr


OLD_MARK, OWN_MARK = ReplacedAnswerMark(2.0, "Old.", 0.5), ReplacedAnswerMark(1.0, "Own.")


@pytest.mark.parametrize(
    ("older", "newer", "is_same", "expected", "earlier", "withdrawn"),
    [
        (OLD_MARK, ReplacedAnswerMark(), True, OLD_MARK, {}, {}),
        (
            OLD_MARK,
            ReplacedAnswerMark(),
            False,
            ReplacedAnswerMark(),
            {"why": OLD_MARK},
            {"why": {"old": OLD_MARK}},
        ),
        (OLD_MARK, OWN_MARK, True, OWN_MARK, {"why": OLD_MARK}, {}),
        (OLD_MARK, OWN_MARK, False, OWN_MARK, {"why": OLD_MARK}, {"why": {"old": OLD_MARK}}),
        (ReplacedAnswerMark(), OWN_MARK, True, OWN_MARK, {}, {}),
        (
            ReplacedAnswerMark(None, "Look."),
            ReplacedAnswerMark(None, "Mine."),
            True,
            ReplacedAnswerMark(None, "Mine."),
            {},
            {},
        ),
        (
            OLD_MARK,
            ReplacedAnswerMark(None, "Mine."),
            True,
            ReplacedAnswerMark(2.0, "Mine.", 0.5),
            {},
            {},
        ),
    ],
)
def test_a_mark_of_the_older_submission_counts_for_an_equal_answer(
    older, newer, is_same, expected, earlier, withdrawn
):
    def make_rows(mark):
        grade = SimpleNamespace(
            name="why",
            manual_score=mark.score,
            extra_credit=mark.extra_credit,
            needs_manual_grade=mark.score is None,
        )
        comment = SimpleNamespace(name="why", manual_comment=mark.comment or None)
        return SimpleNamespace(notebooks=[SimpleNamespace(grades=[grade], comments=[comment])])

    loser, winner = make_rows(older), make_rows(newer)
    record = GradebookRecord(answers={"why": "old" if is_same else "new"})
    before = ReplacedAnswerMark(3.0)
    loser_record = GradebookRecord(
        answers={"why": "old"}, earlier={"other": before}, withdrawn={"other": {"x": before}}
    )
    merge_students._copy_manual_marks_to_newer(winner, loser, record, loser_record)
    ((grade,), (comment,)) = winner.notebooks[0].grades, winner.notebooks[0].comments
    found = ReplacedAnswerMark(grade.manual_score, comment.manual_comment or "", grade.extra_credit)
    assert found == expected
    assert grade.needs_manual_grade == (expected.score is None)
    assert record.earlier == {"other": before, **earlier}
    assert record.withdrawn == {"other": {"x": before}, **withdrawn}
