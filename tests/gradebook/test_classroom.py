"""Files of the classroom's folder, attempts, and the small rules of the gradebook, without a database."""

import json
from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from types import SimpleNamespace
from zoneinfo import ZoneInfo

import pytest
from graded_class import LAB, enrol, results, row
from nbformat import NotebookNode
from nbgrader.api import InvalidEntry, MissingEntry
from our_course import COURSE
from sqlalchemy.exc import DBAPIError, OperationalError, SQLAlchemyError

from autograder.core.errors import UsageError
from autograder.core.results import Verdict
from autograder.gradebook import attempt_choice, gradebook_writer, nbgrader_db, result_store
from autograder.gradebook import classroom as classroom_module
from autograder.gradebook.attempt_choice import GradedAttempt, NewlyCountedAttempt
from autograder.gradebook.class_list import (
    MAX_NAMES_SHOWN,
    ClassList,
    ClassListError,
    _join_names_with_ellipsis,
    read_class_list,
)
from autograder.gradebook.classroom import (
    MAX_ATTEMPTS,
    MAX_SMALL_TEXT_BYTES,
    Classroom,
    Submission,
    read_small_text,
    read_submitted_notebook,
)
from autograder.gradebook.deadlines import (
    Deadlines,
    compute_timings,
    merge_deadlines,
    parse_timestamp,
    read_deadlines,
    set_aside_invalid_timestamp,
)
from autograder.gradebook.gradebook_records import (
    GradebookRecord,
    ReplacedAnswerMark,
    describe_earlier_mark,
    read_gradebook_record,
    was_interrupted,
    write_gradebook_record,
)
from autograder.gradebook.graded_submission import (
    GradedSubmission,
    GradingOptions,
    hash_submitted_file,
)
from autograder.gradebook.policy import Policy, SubmissionTiming
from autograder.intake import Origin, Person


def submit(room, student, name=LAB):
    folder = room.submitted / student / name
    folder.mkdir(parents=True)
    (folder / f"{name}.ipynb").write_text("{}")
    return folder


def test_submissions_are_sorted_and_hidden_or_odd_folders_are_none(classroom):
    for student in ("zoe", "ada", ".cache", "ada ", "a\u202eb"):
        submit(classroom, student)
    submit(classroom, "ada", "no-lab")
    submit(classroom, "ada", ".ipynb_checkpoints")
    (classroom.submitted / "file").write_text("")
    assert classroom.list_submissions([LAB]) == [("ada", LAB), ("zoe", LAB)]
    assert classroom.list_unknown_folders() == ["ada/no-lab"]
    assert classroom.list_unusable_student_folders() == ["'a\\u202eb'", "'ada '"]


def test_a_gradebook_has_the_same_address_from_every_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    room = Classroom("class", COURSE)
    assert room.db == f"sqlite:///{tmp_path.resolve() / 'class' / 'gradebook.db'}"
    assert room.uses_default_db and not Classroom("class", COURSE, "sqlite://").uses_default_db
    with pytest.raises(UsageError, match="There is no folder class/submitted"):
        room.require_submissions()


def test_a_probe_of_the_folder_leaves_nothing(classroom):
    classroom.root.mkdir()
    classroom.require_writable()
    assert list(classroom.root.iterdir()) == []


def test_the_secret_stays_and_is_the_owner_s(classroom):
    classroom.root.mkdir()
    first = classroom.salt
    assert Classroom(classroom.root, COURSE).salt == first and len(first) == 32
    assert (classroom.root / "secret").stat().st_mode & 0o077 == 0


def attempt_name(number):
    return f"20260101T0000{number:02}Z-{'0' * 12}.ipynb"


def test_the_newest_earlier_attempts_are_read_with_their_own_times(classroom):
    (submit(classroom, "ada") / "timestamp.txt").write_text("2026-02-01 10:00:00 UTC")
    folder = classroom.root / "submitted-earlier" / "ada" / LAB
    folder.mkdir(parents=True)
    for number in range(MAX_ATTEMPTS + 1):
        (folder / attempt_name(number)).write_text("{}")
        (folder / attempt_name(number)).with_suffix(".txt").write_text(f"time {number}")
    (folder / "by-hand.ipynb").write_text("{}")
    attempts = classroom.read_attempts("ada", LAB)
    names = [attempt_name(number) for number in range(MAX_ATTEMPTS, 0, -1)]
    assert list(attempts) == ["", *names]
    assert attempts[names[0]].timestamp == f"time {MAX_ATTEMPTS}"
    assert attempts[""].timestamp == "2026-02-01 10:00:00 UTC"
    assert classroom.read_attempt_time("ada", LAB, "../x.ipynb") is None


def test_the_stored_choice_counts_only_where_the_best_attempt_does(classroom):
    submit(classroom, "ada")
    attempt_choice.store_counted_attempt(classroom, "ada", LAB, attempt_name(1))
    assert classroom.find_counted_attempt("ada", LAB) == ""
    best = SimpleNamespace(**vars(classroom.course) | {"policy": {"attempts": "best"}})
    classroom.course = best
    assert classroom.find_counted_attempt("ada", LAB) == attempt_name(1)
    # The file of the attempt is gone, so the newest one is marked.
    assert classroom.read_submission("ada", LAB).content == b"{}"
    attempt_choice.store_counted_attempt(classroom, "ada", LAB, "")
    assert classroom.find_counted_attempt("ada", LAB) == ""


def test_an_index_of_attempts_keeps_those_of_other_labs_and_lists_what_is_there(classroom):
    longer = f"{LAB}.attempt-x"  # no lab, but a name with the lab's at its beginning
    for name in (LAB, "training", f"{LAB}-2", longer):
        graded = results("ada")
        attempt_choice.store_attempt(classroom, "ada", name, "1" * 64, graded)
    attempt_choice.store_attempt(classroom, "ada", LAB, "2" * 64, results("ada"))
    kept = [GradedAttempt("2" * 64, {"softmax": 1.0}), GradedAttempt("3" * 64)]
    attempt_choice.write_attempt_index(classroom, "ada", LAB, kept)
    assert attempt_choice.read_attempt_index(classroom, "ada", LAB) == kept[:1]
    assert attempt_choice.load_attempt(classroom, "ada", LAB, "1" * 64) is None
    for name in ("training", f"{LAB}-2"):
        assert attempt_choice.load_attempt(classroom, "ada", name, "1" * 64), name


def test_the_best_attempt_is_that_with_most_points_after_its_penalty():
    due = datetime(2026, 1, 2)
    policy = Policy(penalty_per_day=0.5, points={LAB: {"a": 2.0, "b": 1.0}})
    deadlines = Deadlines({LAB: due})
    late, early = due + timedelta(hours=1), due - timedelta(hours=1)

    def best(**attempts):
        return attempt_choice.find_best_attempt(("ada", LAB), attempts, policy, deadlines)

    assert best(new=(late, {"a": 1.0, "b": 1.0}), old=(early, {"a": 1.0})) == "old"
    assert best(new=(early, {"a": 0.5}), old=(early, {"b": 1.0})) == "new", "as good, and newer"
    assert best(new=(None, {"gone": 1.0}), old=(early, {"b": 0.1})) == "old"
    assert best(new=(early, {"a": 0.5, "b": 1.0}), old=(early, {"a": 0.9})) == "new"
    assert best() == ""


def test_the_only_notebook_is_taken_whatever_its_name(tmp_path):
    (tmp_path / ".hidden.ipynb").write_text("1")
    data, note = read_submitted_notebook(tmp_path, LAB)
    assert data is None and note.endswith("(none was submitted).")
    (tmp_path / "mine.ipynb").write_text("2")
    data, note = read_submitted_notebook(tmp_path, LAB)
    assert (
        data == b"2" and note == f"The file was called 'mine.ipynb'; it was taken as {LAB}.ipynb."
    )
    (tmp_path / "other.ipynb").write_text("3")
    data, note = read_submitted_notebook(tmp_path, LAB)
    assert data is None and note.endswith("(there are 2 others).")
    (tmp_path / f"{LAB}.ipynb").write_text("4")
    assert read_submitted_notebook(tmp_path, LAB) == (b"4", "")


def test_a_small_text_is_one_with_a_few_characters(tmp_path):
    path = tmp_path / "timestamp.txt"
    for text, found in (
        (" a\0b \n", "a b"),
        ("  ", None),
        ("x" * MAX_SMALL_TEXT_BYTES, "x" * MAX_SMALL_TEXT_BYTES),
        ("x" * (MAX_SMALL_TEXT_BYTES + 1), None),
    ):
        path.write_text(text)
        assert read_small_text(path) == found
    assert read_small_text(tmp_path / "none") is None


def test_a_timestamp_that_is_no_time_is_set_aside(tmp_path):
    path = tmp_path / "timestamp.txt"
    assert not set_aside_invalid_timestamp(tmp_path)
    path.write_text("2026-01-02 18:00:00 UTC")
    assert not set_aside_invalid_timestamp(tmp_path) and path.is_file()
    for text in ("yesterday-ish", "1066-10-14 09:00:00 UTC"):
        path.write_text(text)
        assert set_aside_invalid_timestamp(tmp_path) and not path.exists(), text
        assert (tmp_path / "timestamp.txt.unreadable").read_text() == text


# Deadlines and groups


def test_the_roster_s_extension_and_course_toml_s_date_go_first():
    due = datetime(2026, 1, 2, 18, tzinfo=ZoneInfo("Europe/Paris"))
    policy = Policy(due_dates={LAB: due, "training": None})
    class_list = ClassList(
        people={"ada": Person(student="ada", extension={"": "1 day", "training": "2026-01-06"})}
    )
    in_gradebook = datetime(2026, 1, 5)
    found = merge_deadlines(
        policy,
        class_list,
        {LAB: in_gradebook, "training": in_gradebook},
        {("ada", LAB): timedelta(days=9), ("bo", LAB): timedelta(days=3)},
    )
    assert found.due_dates == {LAB: datetime(2026, 1, 2, 17), "training": in_gradebook}
    assert found.extensions == {
        ("ada", LAB): timedelta(days=1),
        ("ada", "training"): datetime(2026, 1, 6, 23, 59, 59) - in_gradebook,
        ("bo", LAB): timedelta(days=3),
    }
    anonymous = found.with_pseudonyms({"bo": "student-1"})
    assert anonymous.extensions == {("student-1", LAB): timedelta(days=3)}
    assert found.find_deadline("bo", LAB) == datetime(2026, 1, 5, 17, tzinfo=UTC)


def test_a_group_has_one_file_for_one_lab():
    members = ("ada", "bo", "cy")
    origins = {
        (student, LAB): Origin(members=members, sha256="7" if student != "cy" else "8")
        for student in members
    }
    origins["ada", "training"] = Origin(members=members, sha256="7")
    origins["di", LAB] = Origin(members=members, sha256="7")  # in another group since
    assert ClassList(origins=origins).find_groups(LAB) == [("ada", "bo")]
    assert ClassList(origins=origins).find_groups("training") == []


def test_a_time_in_the_roster_is_in_the_course_s_zone_and_an_error_names_the_person():
    policy = Policy(due_dates={LAB: None}, zone=ZoneInfo("Europe/Paris"))
    ada = Person(student="x1", name="Ada L", submission_times={"QKV attention": "2026-01-02 18:00"})
    class_list = ClassList(people={"x1": ada})
    assert class_list.read_roster_submission_times(policy) == {
        ("x1", LAB): datetime(2026, 1, 2, 17)
    }
    odd = Person(student="x1", name="Ada L", submission_times={LAB: "noon"})
    with pytest.raises(ClassListError, match=r"roster.csv, Ada L: 'noon' is no time when"):
        ClassList(people={"x1": odd}).read_roster_submission_times(policy)
    with pytest.raises(ClassListError, match="has a column 'Submitted no-lab', but the labs are"):
        ClassList(
            people={"x1": Person(student="x1", submission_times={"no-lab": "noon"})}
        ).read_roster_submission_times(policy)


def test_a_roster_is_another_class_s_if_hardly_anybody_is_in_it(classroom):
    for number in range(7):
        submit(classroom, f"s{number}")
    enrol(classroom, "Login,Name\nxi,Xi Y\n")
    with pytest.raises(ClassListError, match=r"7 of the 7 .*\(s0, s1, s2, s3 and s4 …\)"):
        read_class_list(classroom)
    enrol(classroom, "Login,Name\ns0,A\ns1,B\n")
    assert len(read_class_list(classroom).people) == 2, "five of seven may be missing"


def test_four_of_five_may_be_missing_in_a_roster(classroom):
    for number in range(5):
        submit(classroom, f"s{number}")
    enrol(classroom, "Login,Name\ns0,A\nxi,Xi Y\nyo,Yo Z\n")
    assert list(read_class_list(classroom).people) == ["s0", "xi", "yo"]
    submit(classroom, "s5")
    with pytest.raises(ClassListError, match=r"5 of the 6 .* and it lists A, Xi Y and Yo Z\."):
        read_class_list(classroom)


# Rules of the gradebook


def test_an_earlier_mark_without_points_is_filled_from_an_even_earlier_one():
    combine = gradebook_writer._combine_earlier_marks
    old = ReplacedAnswerMark(2.0, "Old.", 1.0)
    assert combine(ReplacedAnswerMark(comment="New."), old) == ReplacedAnswerMark(2.0, "New.", 1.0)
    assert combine(ReplacedAnswerMark(1.0), old) == ReplacedAnswerMark(1.0)
    assert combine(ReplacedAnswerMark(comment="New."), None) == ReplacedAnswerMark(comment="New.")
    assert describe_earlier_mark(ReplacedAnswerMark(extra_credit=0.0, comment="So."), 2) == (
        "For another answer a person gave a comment: “So.”."
    )


def test_the_automatic_comment_says_what_happened():
    graded = SimpleNamespace(untouched=("blank",))

    def comment(result, earlier=None):
        marks = {result.exercise: earlier} if earlier else {}
        return gradebook_writer._auto_comment_text(result, graded, marks)

    assert comment(row("ada", "blank", Verdict.MANUAL)) == "No response."
    assert comment(row("ada", "why", Verdict.MANUAL)) == ""
    assert comment(row("ada", "a", Verdict.FAULT, message="No room.")) == (
        "Waits for the grader. No room."
    )
    wrong = row("ada", "a", Verdict.WRONG, message="Too large.")
    assert comment(wrong, ReplacedAnswerMark(1.0)) == (
        "Too large. (For another answer a person gave 1 of 2 points.)"
    )


def test_an_automatic_score_is_by_today_s_points_and_none_until_a_person_has_read():
    def score(result, untouched=()):
        grade = SimpleNamespace(auto_score="old")
        gradebook_writer._set_auto_score(grade, 6.0, result, SimpleNamespace(untouched=untouched))
        return grade.auto_score

    assert score(row("ada", "a")) == 6.0 and score(row("ada", "a", Verdict.WRONG)) == 0.0
    assert score(row("ada", "why", Verdict.MANUAL)) is None
    assert score(row("ada", "why", Verdict.MANUAL), ("why",)) == 0.0
    assert score(row("ada", "a", Verdict.FAULT)) is None


def test_a_partner_s_own_comment_stays_and_an_exercise_s_is_on_its_answer():
    def notebook(**comments):
        return SimpleNamespace(
            comments=[
                SimpleNamespace(name=name.replace("_", "-"), manual_comment=text)
                for name, text in comments.items()
            ]
        )

    source = notebook(stable_softmax="Well done.", why="Yes.")
    target = notebook(stable_softmax=None, why="My own.", other=None)
    for cell in ("test-stable-softmax", "why"):
        gradebook_writer._copy_manual_comment_if_none(source, target, cell)
    assert [comment.manual_comment for comment in target.comments] == [
        "Well done.",
        "My own.",
        None,
    ]


def test_an_address_is_shown_without_its_password_and_an_error_as_a_sentence(tmp_path):
    shown = nbgrader_db.remove_password("postgresql://ada:secret@h/marks")
    assert "secret" not in shown and "ada" in shown and "marks" in shown
    assert nbgrader_db.remove_password("x") == "(not a database address)"
    assert nbgrader_db.gradebook_exists("postgresql://h/marks")
    path = tmp_path / "gradebook.db"
    assert not nbgrader_db.gradebook_exists(f"sqlite:///{path}")
    path.write_text("")
    assert nbgrader_db.gradebook_exists(f"sqlite:///{path}")
    assert nbgrader_db.format_error(ValueError("no room\ndetails")) == "no room."
    assert nbgrader_db.format_error(ValueError("No room!")) == "No room!"


def test_a_due_date_of_course_toml_is_taken_back_with_it_and_another_is_kept(classroom):
    classroom.root.mkdir()
    assignment = SimpleNamespace(duedate=None)

    class Book:
        def update_or_create_assignment(self, name, **fields):
            vars(assignment).update(fields)
            return assignment

    def set_date(due):
        nbgrader_db.set_due_date(Book(), classroom, LAB, due)
        return assignment.duedate

    due = datetime(2026, 1, 2, 18, tzinfo=ZoneInfo("Europe/Paris"))
    assert set_date(due) == datetime(2026, 1, 2, 17)
    assert set_date(None) is None
    assert not (classroom.root / f".{LAB}.due").exists()
    assignment.duedate = datetime(2026, 3, 4)  # entered in nbgrader
    assert set_date(None) == datetime(2026, 3, 4)
    set_date(due)
    assignment.duedate = datetime(2026, 3, 4)
    assert set_date(None) == datetime(2026, 3, 4), "the instructor has changed it since"


def test_lateness_rules_say_all_that_holds_and_nothing_else():
    assert Policy(late_days=2).lateness_rules == "Lateness takes off nothing."
    plain = Policy(penalty_per_day=0.1).lateness_rules
    assert plain == "Each day begun after the due date takes off 10 % of the points."
    free = Policy(penalty_per_day=0.1, late_days=1).lateness_rules
    assert free.startswith(plain) and " Each student has 1 late day, used in the order" in free


def test_free_days_take_away_whole_days_after_the_grace():
    due = datetime(2026, 1, 2)
    policy = Policy(grace=timedelta(minutes=10), penalty_per_day=0.1)

    def penalty(late, used=0):
        return policy.compute_penalty(10, SubmissionTiming(due + late, due, late_days_used=used))

    assert penalty(timedelta(minutes=10)) == 0 and penalty(timedelta(minutes=11)) == 1
    assert penalty(timedelta(days=1, minutes=5)) == 2, "the grace is no part of later days"
    assert penalty(timedelta(days=1, minutes=5), used=1) == 1
    assert penalty(timedelta(hours=1), used=3) == 0


@pytest.mark.parametrize("follow_through", [True, False])
def test_an_attempt_is_graded_whatever_the_follow_through(classroom, monkeypatch, follow_through):
    monkeypatch.setattr(result_store, "fingerprint_lab", lambda any_lab: "")
    submit(classroom, "ada")
    folder = classroom.root / "submitted-earlier" / "ada" / LAB
    folder.mkdir(parents=True)
    (folder / attempt_name(1)).write_text('{"cells": []}')
    options, graded = GradingOptions(follow_through=follow_through), []
    for attempt in classroom.read_attempts("ada", LAB).values():
        fingerprint = result_store.fingerprint_submission(attempt, None, options)
        attempt_choice.store_attempt(classroom, "ada", LAB, fingerprint, results("ada"))
        graded.append(GradedAttempt(fingerprint))
    policy, labs = Policy(best_attempt=True), {LAB: None}
    attempt_choice.write_attempt_index(classroom, "ada", LAB, graded)
    assert attempt_choice.describe_ungraded_attempts(classroom, labs, policy) == []
    attempt_choice.write_attempt_index(classroom, "ada", LAB, graded[:1])
    assert len(attempt_choice.describe_ungraded_attempts(classroom, labs, policy)) == 1


def test_a_roster_is_another_class_s_from_three_strangers_on(classroom):
    enrol(classroom, "Login\nxi\n")
    for student in ("ada", "bo"):
        submit(classroom, student)
    assert "xi" in read_class_list(classroom).people
    submit(classroom, "cy")
    with pytest.raises(ClassListError, match="another class's: 3 of the 3 who submitted"):
        read_class_list(classroom)
    submit(classroom, "xi")  # one of four is in the roster
    assert "xi" in read_class_list(classroom).people


def test_a_student_whose_folder_is_named_by_another_identifier_is_no_stranger(classroom):
    enrol(classroom, "Login,Student ID\nada,11\nbo,12\ncy,13\n")
    for number in ("11", "12", "13"):
        submit(classroom, number)
    assert read_class_list(classroom).people.keys() == {"11", "12", "13"}


def test_of_many_strangers_the_first_few_are_named():
    names = [f"s{number}" for number in range(MAX_NAMES_SHOWN)]
    assert _join_names_with_ellipsis(names).endswith(f" and {names[-1]}")
    assert _join_names_with_ellipsis([*names, "x"]).endswith(f" and {names[-1]} …")


def test_results_of_a_folder_with_brackets_are_found(tmp_path):
    student = "ada [x]"
    classroom = Classroom(tmp_path, COURSE)
    for name in (student, "ada x"):
        path = classroom.result_path(name, LAB)
        path.parent.mkdir(parents=True)
        path.write_text("{}")
        (classroom.submitted / name / LAB).mkdir(parents=True)
    assert list(result_store.load_all_results(classroom, student)) == [(student, LAB)]


def test_a_write_is_tried_again_a_few_times_if_the_connection_is_lost(monkeypatch):
    waits, tries = [], []
    monkeypatch.setattr(gradebook_writer, "time", SimpleNamespace(sleep=waits.append))
    writer = object.__new__(gradebook_writer.GradebookWriter)
    writer.classroom = SimpleNamespace(db="sqlite:///gradebook.db")
    writer._roll_back = writer._clear_cache = lambda: None

    def write(failure_count):
        tries.append(failure_count)
        if len(tries) <= failure_count:
            raise OperationalError("INSERT", {}, Exception("gone"))
        return "written"

    most = gradebook_writer.MAX_TRIES
    assert writer._write_with_retries(lambda: write(most - 1)) == "written"
    assert (len(tries), len(waits)) == (most, most - 1)
    tries.clear()
    with pytest.raises(nbgrader_db.GradebookError, match="No result is lost"):
        writer._write_with_retries(lambda: write(most))
    assert len(tries) == most


@pytest.mark.parametrize(
    ("errors", "is_one_submission", "calls", "raised"),
    [
        ([], True, ["write"], None),
        ([MissingEntry("a")], True, ["write", "roll back", "clear", "write"], None),
        ([InvalidEntry("a")], False, ["write", "roll back", "clear", "write"], None),
        (
            [InvalidEntry("a")] * 2,
            True,
            ["write", "roll back", "clear"] * 2,
            nbgrader_db.SubmissionRefused,
        ),
        ([InvalidEntry("a")] * 2, False, ["write", "roll back", "clear"] * 2 + ["write"], None),
        ([MissingEntry("a")] * 2, True, ["write", "roll back", "clear"] * 2 + ["write"], None),
        (
            [DBAPIError("INSERT", {}, Exception("gone"), connection_invalidated=True)] * 2,
            True,
            ["write", "roll back", "clear"] * 2 + ["write"],
            None,
        ),
        ([SQLAlchemyError("a")] * 3, False, ["write", "roll back", "clear"] * 3 + ["write"], None),
        # The next commit must not write half a submission.
        ([KeyboardInterrupt()], True, ["write", "roll back"], KeyboardInterrupt),
        ([ValueError()], False, ["write", "roll back"], ValueError),
    ],
)
def test_an_error_rolls_back_and_only_a_submission_is_refused(
    monkeypatch, errors, is_one_submission, calls, raised
):
    monkeypatch.setattr(gradebook_writer, "time", SimpleNamespace(sleep=lambda seconds: None))
    made, errors_left = [], list(errors)
    writer = object.__new__(gradebook_writer.GradebookWriter)
    writer.classroom = SimpleNamespace(db="sqlite:///gradebook.db")
    writer._roll_back = lambda: made.append("roll back")
    writer._clear_cache = lambda: made.append("clear")

    def write():
        made.append("write")
        if errors_left:
            raise errors_left.pop(0)
        return "written"

    with pytest.raises(raised) if raised else nullcontext():
        assert writer._write_with_retries(write, is_one_submission) == "written"
    assert made == calls


@pytest.mark.parametrize(
    ("timestamp", "content", "expected"),
    [
        ("2026-01-02 12:00:00 Europe/Paris", b"graded", datetime(2026, 1, 2, 11)),
        ("2026-01-02 12:00:00 UTC", b"graded", datetime(2026, 1, 2, 12)),
        ("2026-01-02 12:00:00 UTC", b"newer and not graded", datetime(2026, 1, 1)),
        ("2026-01-02 12:00:00 UTC", None, datetime(2026, 1, 1)),
        ("no time", b"graded", datetime(2026, 1, 1)),
        (None, b"graded", datetime(2026, 1, 1)),
    ],
)
def test_a_corrected_time_is_taken_over_for_the_graded_file_only(
    classroom, timestamp, content, expected
):
    folder = submit(classroom, "ada")
    (folder / f"{LAB}.ipynb").unlink()
    if content is not None:
        (folder / f"{LAB}.ipynb").write_bytes(content)
    if timestamp:
        (folder / "timestamp.txt").write_text(timestamp)
    result = classroom.result_path("ada", LAB)
    result.parent.mkdir(parents=True)
    result.write_text(json.dumps({"file_hash": hash_submitted_file(b"graded")}))
    submitted = SimpleNamespace(student=SimpleNamespace(id="ada"), timestamp=datetime(2026, 1, 1))
    writer = object.__new__(gradebook_writer.GradebookWriter)
    writer.classroom, commits = classroom, []
    writer._gradebook = SimpleNamespace(
        assignment_submissions=lambda name: [submitted] if name == LAB else [],
        db=SimpleNamespace(commit=lambda: commits.append(submitted.timestamp)),
    )
    writer._write_corrected_times(LAB)
    assert commits == [expected]


def test_an_attempt_that_counts_now_is_stored_before_its_result(monkeypatch):
    attempt = SimpleNamespace(student="ada", lab=LAB)
    choice = NewlyCountedAttempt("old.ipynb", attempt, "result of old", "h-old")
    calls = []
    class_list = SimpleNamespace(read_roster_submission_times=lambda policy: {"roster": policy})
    monkeypatch.setattr(
        gradebook_writer, "read_class_deadlines", lambda *arguments: ("deadlines", *arguments)
    )
    monkeypatch.setattr(
        gradebook_writer,
        "find_changed_choices",
        lambda *arguments: calls.append(arguments) or [choice],
    )
    monkeypatch.setattr(
        gradebook_writer, "store_counted_attempt", lambda *arguments: calls.append(arguments)
    )
    monkeypatch.setattr(result_store, "store_result", lambda *arguments: calls.append(arguments))
    writer = SimpleNamespace(record_submission=lambda *arguments: calls.append(arguments))
    gradebook_writer._record_changed_choices("room", {LAB: None}, "policy", class_list, writer)
    assert calls == [
        (
            "room",
            {LAB: None},
            "policy",
            ("deadlines", "room", "policy", class_list),
            {"roster": "policy"},
        ),
        ("room", "ada", LAB, "old.ipynb"),
        (attempt, "result of old"),
        ("room", attempt, "result of old", "h-old"),
    ]


CELL = "why"


def make_member(score=None, shared=None, extra=None, shared_extra=None, auto_score=None):
    """Return a group member's grade and gradebook record; the shared marks are copies."""
    record = GradebookRecord()
    if shared is not None:
        record.shared[CELL] = shared
    if shared_extra is not None:
        record.shared[f"{CELL} extra"] = shared_extra
    grade = SimpleNamespace(
        manual_score=score,
        extra_credit=extra,
        auto_score=auto_score,
        needs_manual_grade=score is None and auto_score is None,
    )
    return grade, record


@pytest.mark.parametrize(
    ("ada", "bo", "expected_ada", "expected_bo", "updates"),
    [
        ({}, {}, {}, {}, set()),
        ({"score": 2}, {}, {"score": 2}, {"score": 2, "shared": 2}, {"bo"}),
        ({"score": 2}, {"score": 2}, {"score": 2}, {"score": 2}, set()),
        ({"score": 2}, {"score": 3}, {"score": 2}, {"score": 3}, set()),
        (
            {"score": 2},
            {"score": 1, "shared": 1},
            {"score": 2},
            {"score": 2, "shared": 2},
            {"bo"},
        ),
        ({"score": 2}, {"score": 2, "shared": 2}, {"score": 2}, {"score": 2, "shared": 2}, set()),
        ({}, {"score": 1, "shared": 1}, {}, {}, {"bo"}),
        (
            {"auto_score": 0},
            {"score": 1, "shared": 1, "auto_score": 0},
            {"auto_score": 0},
            {"auto_score": 0},
            {"bo"},
        ),
        # A person has changed the copy: now it is the original.
        (
            {},
            {"score": 1, "shared": 2},
            {"score": 1, "shared": 1},
            {"score": 1, "shared": 2},
            {"ada"},
        ),
        ({"extra": 0.5}, {}, {"extra": 0.5}, {"extra": 0.5, "shared_extra": 0.5}, {"bo"}),
        ({}, {"extra": 0.5, "shared_extra": 0.5}, {}, {}, {"bo"}),
        (
            {"score": 2, "extra": 1},
            {"score": 3, "extra": None},
            {"score": 2, "extra": 1},
            {"score": 3, "extra": 1, "shared_extra": 1},
            {"bo"},
        ),
        ({"score": 0}, {}, {"score": 0}, {"score": 0, "shared": 0}, {"bo"}),
    ],
)
def test_a_group_has_the_mark_that_one_member_was_given(
    ada, bo, expected_ada, expected_bo, updates
):
    grades, records, notebooks = {}, {}, {}
    for name, fields in (("ada", ada), ("bo", bo)):
        grades[name], records[name] = make_member(**fields)
        notebooks[name] = SimpleNamespace(comments=[])
    found = gradebook_writer._sync_manual_mark_in_group(CELL, grades, records, notebooks)
    assert found == updates
    for name, fields in (("ada", expected_ada), ("bo", expected_bo)):
        assert (grades[name], records[name]) == make_member(**fields), name


OLD_MARK = ReplacedAnswerMark(2.0, "Old.", None)
RETURNED_MARK = ReplacedAnswerMark(1.5, "Again.", 0.5)


@pytest.mark.parametrize(
    ("given", "answers", "marks", "expected"),
    [
        # The first submission: nobody has graded anything.
        (None, ("", "new"), {}, (None, True, None, {}, {})),
        (OLD_MARK, ("same", "same"), {}, (OLD_MARK, False, None, {}, {})),
        (OLD_MARK, ("", "new"), {}, (OLD_MARK, False, None, {}, {})),  # the record is lost
        (
            OLD_MARK,
            ("old", "new"),
            {},
            (None, True, None, {CELL: OLD_MARK}, {CELL: {"old": OLD_MARK}}),
        ),
        (
            OLD_MARK,
            ("old", "new"),
            {"shared": {CELL: 2.0}},
            (None, True, None, {CELL: OLD_MARK}, {}),
        ),
        # The copied points are gone, so the extra credit is this student's own.
        (
            ReplacedAnswerMark(None, "", 0.5),
            ("old", "new"),
            {"shared": {CELL: 2.0}},
            (
                None,
                True,
                None,
                {CELL: ReplacedAnswerMark(None, "", 0.5)},
                {CELL: {"old": ReplacedAnswerMark(None, "", 0.5)}},
            ),
        ),
        (
            None,
            ("old", "new"),
            {
                "withdrawn": {CELL: {"new": RETURNED_MARK, "third": OLD_MARK}},
                "earlier": {CELL: OLD_MARK},
            },
            (RETURNED_MARK, False, None, {}, {CELL: {"third": OLD_MARK}}),
        ),
        (
            OLD_MARK,
            ("old", "new"),
            {"withdrawn": {CELL: {"new": RETURNED_MARK}}},
            (RETURNED_MARK, False, None, {}, {CELL: {"old": OLD_MARK}}),
        ),
        (
            ReplacedAnswerMark(None, "Look.", None),
            ("old", "new"),
            {"earlier": {CELL: OLD_MARK}},
            (
                None,
                "as before",
                None,
                {CELL: ReplacedAnswerMark(2.0, "Look.", None)},
                {CELL: {"old": ReplacedAnswerMark(None, "Look.", None)}},
            ),
        ),
        (
            None,
            ("same", "same"),
            {"earlier": {CELL: OLD_MARK}},
            (None, "as before", None, {CELL: OLD_MARK}, {}),
        ),
        (
            ReplacedAnswerMark(None, "", 0.5),
            ("same", "same"),
            {"earlier": {CELL: OLD_MARK}},
            (ReplacedAnswerMark(None, "", 0.5), "as before", None, {}, {}),
        ),
        (
            OLD_MARK,
            ("old", "untouched"),
            {},
            (None, False, 0.0, {CELL: OLD_MARK}, {CELL: {"old": OLD_MARK}}),
        ),
        (OLD_MARK, ("old", "fault"), {}, (OLD_MARK, False, None, {}, {})),
    ],
)
@pytest.mark.parametrize("before", [True, False])
def test_a_manual_mark_holds_as_long_as_its_answer(before, given, answers, marks, expected):
    given = given or ReplacedAnswerMark()
    grade = SimpleNamespace(
        auto_score="old",
        manual_score=given.score,
        extra_credit=given.extra_credit,
        needs_manual_grade=before,
    )
    comment = SimpleNamespace(manual_comment=given.comment or None)
    old_answer, new_answer = answers
    verdict = Verdict.FAULT if new_answer == "fault" else Verdict.MANUAL
    graded = SimpleNamespace(
        results=[row("ada", CELL, verdict)],
        answers={CELL: new_answer},
        untouched=(CELL,) if new_answer == "untouched" else (),
    )
    old_record = GradebookRecord(
        answers={CELL: old_answer} if old_answer else {}, shared=marks.get("shared", {})
    )
    earlier = dict(marks.get("earlier", {}))
    withdrawn = {name: dict(by_answer) for name, by_answer in marks.get("withdrawn", {}).items()}
    entries = gradebook_writer._SubmissionRows({CELL: (grade, 3.0)}, {CELL: comment}, [])
    writer = object.__new__(gradebook_writer.GradebookWriter)
    writer._write_scores_and_retire_manual_marks(entries, graded, old_record, earlier, withdrawn)
    expected_mark, needs_grade, auto_score, expected_earlier, expected_withdrawn = expected
    if needs_grade == "as before":
        needs_grade = before
    mark = ReplacedAnswerMark(grade.manual_score, comment.manual_comment or "", grade.extra_credit)
    assert mark == (expected_mark or ReplacedAnswerMark())
    assert (grade.needs_manual_grade, grade.auto_score) == (needs_grade, auto_score)
    assert earlier == expected_earlier
    assert {name: found for name, found in withdrawn.items() if found} == expected_withdrawn


@pytest.mark.parametrize(
    ("verdict", "manual_score", "old_answer", "expected"),
    [
        (Verdict.PASS, None, "old", (6.0, None, False)),
        (Verdict.WRONG, None, "old", (0.0, None, False)),
        (Verdict.PASS, 1.0, "new", (6.0, 1.0, False)),
        # A person has changed the mark of the answer before, so a person looks at the new one.
        (Verdict.PASS, 1.0, "old", (6.0, None, True)),
    ],
)
def test_a_changed_mark_of_an_exercise_ends_with_its_answer(
    verdict, manual_score, old_answer, expected
):
    grade = SimpleNamespace(
        auto_score=1.0, manual_score=manual_score, extra_credit=None, needs_manual_grade=None
    )
    comment = SimpleNamespace(manual_comment=None)
    entries = gradebook_writer._SubmissionRows(
        {"test-stable-softmax": (grade, 6.0)}, {"stable-softmax": comment}, []
    )
    graded = SimpleNamespace(
        results=[row("ada", "stable_softmax", verdict)],
        answers={"stable_softmax": "new"},
        untouched=(),
    )
    old_record = GradebookRecord(answers={"stable_softmax": old_answer})
    writer = object.__new__(gradebook_writer.GradebookWriter)
    writer._write_scores_and_retire_manual_marks(entries, graded, old_record, {}, {})
    assert (grade.auto_score, grade.manual_score, grade.needs_manual_grade) == expected
    unknown = gradebook_writer._SubmissionRows({"gone": (grade, 1.0)}, {}, [])
    with pytest.raises(gradebook_writer.SubmissionRefused, match="no result for the cell 'gone'"):
        writer._write_scores_and_retire_manual_marks(unknown, graded, old_record, {}, {})


def test_an_answer_that_the_record_lacks_has_no_earlier_answer_for_its_mark():
    """The comment of a question stands on the cell of its name, whatever characters it has."""
    grade = SimpleNamespace(
        auto_score=None, manual_score=2.0, extra_credit=None, needs_manual_grade=False
    )
    comment = SimpleNamespace(manual_comment="Old.")
    entries = gradebook_writer._SubmissionRows({"Why_so": (grade, 3.0)}, {"Why_so": comment}, [])
    graded = SimpleNamespace(
        results=[row("ada", "Why_so", Verdict.MANUAL)], answers={"Why_so": "new"}, untouched=()
    )
    writer = object.__new__(gradebook_writer.GradebookWriter)
    earlier, withdrawn = {}, {}
    old_record = GradebookRecord(answers={"softmax": "same"})
    writer._write_scores_and_retire_manual_marks(entries, graded, old_record, earlier, withdrawn)
    assert (earlier, withdrawn) == ({"Why_so": OLD_MARK}, {})
    assert (grade.manual_score, grade.needs_manual_grade, comment.manual_comment) == (
        None,
        True,
        None,
    )


def test_automatic_comments_are_html_with_plain_quotes_and_none_without_words():
    comments = {
        name: SimpleNamespace(auto_comment="old")
        for name in ("stable-softmax", "why_so", "blank", "of-nothing")
    }
    graded = SimpleNamespace(
        results=[
            row("ada", "stable_softmax", Verdict.WRONG, message='It says "no" & `a < b`.\n'),
            row("ada", "why_so", Verdict.MANUAL),
            row("ada", "blank", Verdict.MANUAL),
        ],
        untouched=("blank",),
    )
    writer = object.__new__(gradebook_writer.GradebookWriter)
    entries = gradebook_writer._SubmissionRows({}, comments, [])
    writer._set_auto_comments(entries, graded, {"why_so": ReplacedAnswerMark(1.0)})
    assert {name: comment.auto_comment for name, comment in comments.items()} == {
        "stable-softmax": 'It says "no" &amp; `a &lt; b`.',
        "why_so": "(For another answer a person gave 1 of 2 points.)",
        "blank": "No response.",
        "of-nothing": None,
    }


def test_a_copied_mark_of_an_answer_that_was_replaced_is_no_copy_any_more():
    """The mark of an exercise is on its test cell, and that of a question on its own."""
    writer, saved = object.__new__(gradebook_writer.GradebookWriter), []
    writer._gradebook = SimpleNamespace(
        db=SimpleNamespace(bulk_save_objects=saved.append, commit=lambda: saved.append("commit"))
    )
    entries = gradebook_writer._SubmissionRows({}, {}, ["row"])
    writer._load_or_make_rows = lambda submission: entries
    writer._submissions = set()

    def replace_answers(entries, graded, old_record, earlier, withdrawn):
        earlier.update({"softmax": OLD_MARK, CELL: OLD_MARK})
        withdrawn["softmax"]["new"] = OLD_MARK

    writer._write_scores_and_retire_manual_marks = replace_answers
    old_record = GradebookRecord(
        "stamp",
        {CELL: "old"},
        {"kept": OLD_MARK},
        {"test-softmax": 1.0, CELL: 2.0, "other": 3.0},
        {"softmax": {"old": OLD_MARK}},
    )
    graded = SimpleNamespace(answers={CELL: "new"}, results=[], untouched=())
    record = writer._write_submission(Submission("ada", LAB, b"", "", None), graded, old_record)
    assert record == GradebookRecord(
        "",
        {CELL: "new"},
        {"kept": OLD_MARK, "softmax": OLD_MARK, CELL: OLD_MARK},
        {"other": 3.0},
        {"softmax": {"old": OLD_MARK, "new": OLD_MARK}},
    )
    assert (old_record.earlier, old_record.withdrawn) == (
        {"kept": OLD_MARK},
        {"softmax": {"old": OLD_MARK}},
    )
    assert (saved, writer._submissions) == ([["row"], "commit"], {("ada", LAB)})


def test_a_stamp_is_of_the_result_its_time_and_its_gradebook():
    def make_stamp(graded, timestamp="today", db="sqlite:///a.db"):
        writer = object.__new__(gradebook_writer.GradebookWriter)
        writer.classroom = SimpleNamespace(db=db)
        return writer._stamp(Submission("ada", LAB, b"", "", timestamp), graded)

    graded = results("ada")
    stamps = [
        make_stamp(graded),
        make_stamp(graded, timestamp="yesterday"),
        make_stamp(graded, timestamp=None),
        make_stamp(graded, db="sqlite:///b.db"),
        make_stamp(replace(graded, notes=("A link.",))),
    ]
    assert len(set(stamps)) == len(stamps)
    assert make_stamp(replace(graded, notebook=NotebookNode(cells=[]))) == stamps[0]


def test_time_and_secret_of_a_submission_go_with_it(classroom):
    folder = submit(classroom, "ada")
    (folder / "submission_secret.txt").write_text("s3cret\n")
    writer = object.__new__(gradebook_writer.GradebookWriter)
    writer.classroom = classroom
    autograded = classroom.autograded / "ada" / LAB
    writer._write_timestamp_and_secret(Submission("ada", LAB, b"", "", "2026-01-02 UTC"))
    assert (autograded / "timestamp.txt").read_text() == "2026-01-02 UTC\n"
    assert (autograded / "submission_secret.txt").read_text() == "s3cret"
    (folder / "submission_secret.txt").unlink()
    writer._write_timestamp_and_secret(Submission("ada", LAB, b"", "", None))
    assert list(autograded.iterdir()) == []


@pytest.mark.parametrize(
    ("question", "cells"), [("softmax", ("test-softmax", "softmax")), ("why_so", ("why_so",) * 2)]
)
def test_marks_of_a_question_are_written_on_its_cells(question, cells):
    grade_cell, comment_cell = cells

    def make_notebook():
        return SimpleNamespace(
            grades=[
                SimpleNamespace(name=name, manual_score=1.0, needs_manual_grade=True)
                for name in (grade_cell, "other")
            ],
            comments=[
                SimpleNamespace(name=name, manual_comment="Old.")
                for name in (comment_cell, "other")
            ],
        )

    notebooks = {"ada": make_notebook(), "bo": make_notebook()}
    writer, commits = object.__new__(gradebook_writer.GradebookWriter), []
    writer._gradebook = SimpleNamespace(
        find_submission_notebook=lambda name, notebook, student: notebooks[student],
        db=SimpleNamespace(commit=lambda: commits.append("commit")),
    )
    marks = {"ada": ("2.5", "Well said."), "bo": ("", "")}
    any_lab = SimpleNamespace(name=LAB, exercises={"softmax": None})
    writer._write_manual_marks(any_lab, question, marks)
    found = {}
    for student, notebook in notebooks.items():
        found[student] = [(mark.manual_score, mark.needs_manual_grade) for mark in notebook.grades]
        found[student] += [comment.manual_comment for comment in notebook.comments]
    assert found == {
        "ada": [(2.5, False), (1.0, True), "Well said.", "Old."],
        "bo": [(1.0, True), (1.0, True), None, "Old."],
    }
    assert commits == ["commit"]


@pytest.mark.parametrize(
    ("person", "names"),
    [
        (Person(student="ada", first="Ada", last="Lovelace"), ("Ada", "Lovelace", "old")),
        (Person(student="ada", first="Ada", name="Ada King"), ("Ada", "Old", "old")),
        (Person(student="ada", last="King", name="Ada King"), ("Old", "King", "old")),
        (Person(student="ada", name="Ada King", email="a@x"), ("Ada", "King", "a@x")),
        (Person(student="ada", first="A\0da", last="x" * 200), ("A\ufffdda", "x" * 128, "old")),
        (None, ("Old", "Old", "old")),
    ],
)
def test_the_roster_s_names_are_cleaned_and_none_of_it_deletes_a_name(person, names):
    student = SimpleNamespace(id="ada", first_name="Old", last_name="Old", email="old")
    writer = object.__new__(gradebook_writer.GradebookWriter)
    writer._gradebook = SimpleNamespace(students=[student], db=SimpleNamespace(commit=lambda: None))
    writer._write_roster_names(ClassList(people={"ada": person} if person else {}))
    assert (student.first_name, student.last_name, student.email) == names


class Rows(list):
    """Rows of a query of the gradebook: all of them, or those of one cell."""

    def join(self, *_tables):
        return self

    def filter(self, condition):
        if condition.left.key != "cell_id":
            return self
        return Rows(row for row in self if row.cell_id == condition.right.value)


def test_manual_marks_follow_the_points_of_each_question(classroom):
    points = {"a": 3.0, "b": 2.0, "c": 4.0, "new": 0.0}
    cells = Rows(
        SimpleNamespace(id=name, name=name, max_score=worth) for name, worth in points.items()
    )
    marks = Rows(
        SimpleNamespace(cell_id=cell, manual_score=score)
        for cell, score in (("a", 3.0), ("a", None), ("b", 1.0), ("c", 4.0), ("new", 1.0))
    )
    commits = []
    writer = object.__new__(gradebook_writer.GradebookWriter)
    writer.classroom = classroom
    writer._gradebook = SimpleNamespace(
        db=SimpleNamespace(
            query=lambda table: cells if table is gradebook_writer.api.GradeCell else marks,
            commit=lambda: commits.append("commit"),
        )
    )
    any_lab = SimpleNamespace(name=LAB, find_item_of_cell=lambda name: name)
    earlier = GradebookRecord(
        earlier={"a": OLD_MARK, "b": OLD_MARK},
        shared={"a": 2.0, "b": 2.0},
        withdrawn={"a": {"x": RETURNED_MARK, "y": ReplacedAnswerMark(None, "Look.")}},
    )
    for student in ("ada", "bo"):
        path = classroom.result_path(student, LAB, "recorded")
        path.parent.mkdir(parents=True)
        write_gradebook_record(path, earlier)
        write_gradebook_record(path.with_name("training.recorded"), earlier)

    def rescale(**new_points):
        writer._rescale_manual_scores(any_lab, new_points)
        for cell in cells:  # as nbgrader's step does, which comes next
            cell.max_score = new_points[cell.name]
        return [mark.manual_score for mark in marks]

    assert rescale(a=6.0, b=2.0, c=4.0, new=0.0) == [6.0, None, 1.0, 4.0, 1.0]
    expected = GradebookRecord(
        earlier={"a": ReplacedAnswerMark(4.0, "Old."), "b": OLD_MARK},
        shared={"a": 4.0, "b": 2.0},
        withdrawn={
            "a": {
                "x": RETURNED_MARK._replace(score=3.0),
                "y": ReplacedAnswerMark(None, "Look."),
            }
        },
    )
    for student in ("ada", "bo"):
        path = classroom.result_path(student, LAB, "recorded")
        assert read_gradebook_record(path) == expected
        assert read_gradebook_record(path.with_name("training.recorded")) == earlier
    # Two questions are dropped, one after the other, and count again.
    dropped = classroom.root / f".{LAB}.dropped"
    assert rescale(a=6.0, b=0.0, c=4.0, new=0.0) == [6.0, None, 1.0, 4.0, 1.0]
    assert json.loads(dropped.read_text()) == {"b": 2.0}
    assert rescale(a=6.0, b=0.0, c=0.0, new=0.0) == [6.0, None, 1.0, 4.0, 1.0]
    assert json.loads(dropped.read_text()) == {"b": 2.0, "c": 4.0}
    assert rescale(a=6.0, b=4.0, c=2.0, new=0.5) == [6.0, None, 2.0, 2.0, 0.5]
    assert commits == ["commit"] * 4


@pytest.mark.parametrize(
    ("mark", "max_score", "share", "auto_score", "total"),
    [
        ((2.0, None, None), 6.0, 1.0, 6.0, 6.0),
        ((2.0, None, None), 6.0, 0.5, 3.0, 3.0),
        ((0.0, None, None), 6.0, 1.0, 6.0, 6.0),  # it was worth nothing when it was graded
        ((0.0, None, None), 6.0, 0.0, 0.0, 0.0),
        ((2.0, None, None), 6.0, 0.0, 6.0, 6.0),  # nbgrader has graded it
        ((2.0, 1.5, None), 6.0, 0.5, 3.0, 1.5),
        ((2.0, 1.5, 0.25), 6.0, 0.5, 3.0, 1.75),
        ((2.0, None, 0.25), 2.0, 1.0, 2.0, 2.25),
        ((None, None, 0.25), 6.0, 0.0, None, 0.0),
        ((None, None, None), 6.0, 0.5, None, 0.0),
        ((2.0, 1.5, 0.25), 0.0, 1.0, 0.0, 0.0),
    ],
)
@pytest.mark.parametrize("has_parts", [False, True])
def test_automatic_scores_follow_the_points_of_today(
    mark, max_score, share, auto_score, total, has_parts
):
    auto, manual, extra = mark
    grade = SimpleNamespace(
        auto_score=auto, manual_score=manual, extra_credit=extra, notebook_id="notebook"
    )
    if has_parts and auto and not share:  # then some of its points do not mean that it passed
        auto_score = total = auto
    writer = object.__new__(gradebook_writer.GradebookWriter)
    writer._exercises_with_parts = {(LAB, "softmax")} if has_parts else {("training", "softmax")}
    writer._find_earned_shares = lambda labs: {("ada", LAB, "softmax"): share} if share else {}
    rows = Rows([(grade, max_score, "test-softmax", "ada", LAB)])
    rows.filter = lambda condition: rows
    writer._gradebook = SimpleNamespace(db=SimpleNamespace(query=lambda *columns: rows))
    policy = Policy(points={LAB: {"softmax": max_score}})
    assert writer._rescale_auto_scores([LAB], policy) == {"notebook": total}
    assert grade.auto_score == auto_score


def test_earned_shares_are_those_of_the_labs_that_are_asked_for(monkeypatch):
    right, wrong = row("", "a"), row("", "b", Verdict.WRONG)
    stored = {
        ("ada", LAB): SimpleNamespace(results=(right, wrong)),
        ("ada", "training"): SimpleNamespace(results=(right,)),
        ("bo", LAB): None,
    }
    monkeypatch.setattr(result_store, "load_all_results", lambda room: stored)
    writer = object.__new__(gradebook_writer.GradebookWriter)
    writer.classroom = None
    assert writer._find_earned_shares([LAB]) == {("ada", LAB, "a"): 1.0}


def test_a_record_of_the_gradebook_is_read_as_it_was_written(tmp_path):
    path = tmp_path / "x.recorded"
    record = GradebookRecord(
        "stamp", {CELL: "hash"}, {CELL: OLD_MARK}, {CELL: 2.0}, {CELL: {"hash": RETURNED_MARK}}
    )
    write_gradebook_record(path, record)
    assert read_gradebook_record(path) == record
    write_gradebook_record(path, record, stamp="")
    assert read_gradebook_record(path) == replace(record, stamp="")
    for text in (
        "{",
        "[]",
        '{"stamp": "x", "unknown": 1}',
        '{"earlier": {"a": 3}}',
        '{"earlier": []}',
    ):
        path.write_text(text)
        assert read_gradebook_record(path) == GradebookRecord(), text


@pytest.mark.parametrize(
    ("has_result", "record", "is_interrupted"),
    [
        (True, '{"stamp": ""}', True),
        (True, '{"stamp": "x"}', False),
        (True, None, False),
        (False, '{"stamp": ""}', False),
        (True, "{", True),
    ],
)
def test_a_run_was_interrupted_if_the_stamp_is_missing(
    classroom, has_result, record, is_interrupted
):
    path = classroom.result_path("ada", LAB, "recorded")
    path.parent.mkdir(parents=True)
    if has_result:
        classroom.result_path("ada", LAB).write_text("{}")
    if record is not None:
        path.write_text(record)
    assert was_interrupted(classroom, "ada", LAB) is is_interrupted


def test_a_graded_submission_is_the_same_after_it_was_stored():
    graded = GradedSubmission(
        results=(row("", "a", Verdict.FAULT, message="No room."), row("", "b")),
        notebook=NotebookNode(cells=[], metadata={}),
        notes=("A link.",),
        seed=7,
        answers={"a": "1"},
        untouched=("b",),
        log=("Odd.",),
        sandbox="wasm",
        file_hash="f",
    )
    assert GradedSubmission.from_fields(json.loads(graded.to_json())) == graded
    assert GradedSubmission.from_fields(graded.to_fields(), graded.notebook) == graded
    assert graded.faults == ["No room."]
    of_ada = graded.with_student("ada")
    assert {result.student for result in of_ada.results} == {"ada"}
    assert replace(of_ada, results=graded.results) == graded
    fields = graded.to_fields()
    for name in ("log", "sandbox", "file_hash"):  # results of an early version have none
        del fields[name]
    early = GradedSubmission.from_fields(fields, graded.notebook)
    assert early == replace(graded, log=(), sandbox="", file_hash="")


def choose(monkeypatch, policy, entries, stored=("", "h-new"), results_of_attempts=None):
    """Return the names of the attempts that count now, of Ada's attempts at the lab."""
    times = {"": "2026-01-03 10:00:00 UTC", "old": "2026-01-01 10:00:00 UTC"}
    attempts = {name: SimpleNamespace(timestamp=times[name]) for name in entries}
    room = SimpleNamespace(
        list_submissions=lambda labs: [("ada", LAB)],
        read_attempt=lambda student, name, file_name: attempts.get(file_name),
        read_counted_name=lambda student, name: stored[0],
        result_path=lambda student, name: "path",
    )
    monkeypatch.setattr(attempt_choice, "_read_graded_attempts", lambda *arguments: entries)
    monkeypatch.setattr(attempt_choice, "read_json", lambda path: {"hash": stored[1]})
    graded = results_of_attempts or {"h-new": "result of new", "h-old": "result of old"}
    monkeypatch.setattr(
        attempt_choice, "load_attempt", lambda room, student, name, stamp: graded.get(stamp)
    )
    deadlines = Deadlines({LAB: datetime(2026, 1, 2)})
    found = list(attempt_choice.find_changed_choices(room, {LAB: None}, policy, deadlines, {}))
    for choice in found:
        assert choice.attempt is attempts[choice.name]
    return [(choice.name, choice.graded, choice.fingerprint) for choice in found]


def test_another_attempt_counts_if_the_rules_have_changed(monkeypatch):
    new, old = GradedAttempt("h-new", {"a": 1.0}), GradedAttempt("h-old", {"a": 0.9})
    attempts = {"": new, "old": old}
    best = Policy(best_attempt=True, points={LAB: {"a": 10.0}}, penalty_per_day=0.1)
    of_old, of_new = ("old", "result of old", "h-old"), ("", "result of new", "h-new")
    choose_now = partial(choose, monkeypatch)
    assert choose_now(best, attempts) == [of_old], "the newest is two days late"
    assert choose_now(replace(best, penalty_per_day=0.0), attempts) == []
    assert choose_now(replace(best, best_attempt=False), attempts) == []
    assert choose_now(best, attempts, ("old", "h-old")) == []
    assert choose_now(best, attempts, ("old", "h-new")) == [of_old]
    assert choose_now(replace(best, best_attempt=False), attempts, ("old", "h-old")) == [of_new]
    assert choose_now(best, {"": new, "old": None}) == [], "grading chooses"
    assert choose_now(best, {}) == []
    assert choose_now(best, attempts, results_of_attempts={"h-new": "result of new"}) == []


@pytest.mark.parametrize(
    ("ungraded", "submissions"), [(0, ""), (1, "1 submission"), (2, "2 submissions")]
)
def test_attempts_that_are_not_graded_are_counted_by_submission(monkeypatch, ungraded, submissions):
    keys = [("ada", LAB), ("bo", LAB), ("cy", LAB)]
    room = SimpleNamespace(list_submissions=lambda labs: keys)

    def read_attempts(room, labs, student, name):
        graded = GradedAttempt("h")
        is_ungraded = (student, name) in keys[:ungraded]
        return {"": graded, "old": None, "older": None} if is_ungraded else {"": graded}

    monkeypatch.setattr(attempt_choice, "_read_graded_attempts", read_attempts)
    sentences = []
    if submissions:
        sentences = [
            "Not every attempt is graded yet, so it is not known which one is the best for "
            f"{submissions}: run `autograder grade`."
        ]
    describe = attempt_choice.describe_ungraded_attempts
    assert describe(room, {LAB: None}, Policy(best_attempt=True)) == sentences
    assert describe(room, {LAB: None}, Policy()) == []


def test_the_roster_s_time_goes_first_and_free_days_are_each_student_s_own():
    due = datetime(2026, 1, 2)
    policy = Policy(late_days=1, due_dates={LAB: None, "training": None, "positions": None})
    ada = Person(student="ada", submission_times={LAB: "2026-01-01 10:00"})
    class_list = ClassList(people={"ada": ada})
    deadlines = Deadlines({LAB: due, "training": due}, {("bo", LAB): timedelta(days=1)})
    late = due + timedelta(hours=30)
    times = {
        ("ada", LAB): late,
        ("ada", "training"): late,
        ("bo", LAB): late,
        ("bo", "positions"): late,
    }
    assert compute_timings(policy, class_list, deadlines, {**times, ("cy", LAB): None}) == {
        ("ada", LAB): SubmissionTiming(datetime(2026, 1, 1, 10), due),
        ("ada", "training"): SubmissionTiming(late, due, None, 1),
        ("bo", LAB): SubmissionTiming(late, due, timedelta(days=1), 1),
        ("bo", "positions"): SubmissionTiming(late, None),
        ("cy", LAB): SubmissionTiming(None, due),
    }


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-02 18:00:00 UTC", datetime(2026, 1, 2, 18)),
        ("2026-01-02T18:00:00+01:00", datetime(2026, 1, 2, 17)),
        ("2026-01-02", datetime(2026, 1, 2)),
        ("", None),
        (None, None),
        ("1066-10-14 09:00:00 UTC", None),
        ("2200-01-01 00:00:00 UTC", None),
        ("1234567890", None),
        ("1e9", None),
        ("never", None),
    ],
)
def test_a_time_of_submission_is_read_in_utc(text, moment):
    assert parse_timestamp(text) == moment


def test_the_roster_s_people_are_those_with_folders_and_all_others(classroom):
    for student in ("ada", "guest"):
        submit(classroom, student)
    enrol(classroom, "Login,First name,Last name,Status\nada,Ada,L,\nbo,Bo,Li,withdrawn\n")
    people = read_class_list(classroom).people
    assert {
        folder: (person.student, person.first, person.withdrawn)
        for folder, person in people.items()
    } == {
        "ada": ("ada", "Ada", False),
        "bo": ("bo", "Bo", True),
    }


def test_a_lab_s_own_column_goes_before_that_of_all_labs():
    policy = Policy(due_dates=dict.fromkeys((LAB, "training")))
    for of_lab, days in (("3 days", 3), ("0 days", 0)):
        extension = {"training": of_lab, "": "1 day"}
        class_list = ClassList(people={"ada": Person(student="ada", extension=extension)})
        assert class_list.read_extensions(policy) == {
            ("ada", LAB): timedelta(days=1),
            ("ada", "training"): timedelta(days=days),
        }
    with pytest.raises(
        ClassListError, match=r"roster\.csv, ada: the extension 'soon' is no length"
    ):
        ClassList(people={"ada": Person(student="ada", extension={"": "soon"})}).read_extensions(
            policy
        )


def test_a_link_in_place_of_a_submission_is_refused_with_its_reason(classroom, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / LAB).mkdir(parents=True)
    (elsewhere / LAB / f"{LAB}.ipynb").write_text("{}")
    for student in ("ada", "bo", "cy", "di"):
        (classroom.submitted / student).mkdir(parents=True)
    (classroom.submitted / "ada" / LAB).symlink_to(elsewhere / LAB)
    (classroom.submitted / "bo" / LAB).write_text("a file")
    (submit(classroom, "eve") / "timestamp.txt").write_text("now")
    (classroom.submitted / "cy" / LAB).mkdir()
    (classroom.submitted / "cy" / LAB / f"{LAB}.ipynb").symlink_to(elsewhere / LAB / f"{LAB}.ipynb")
    (classroom.submitted / "di" / LAB).mkdir()
    (classroom.submitted / "fay").symlink_to(elsewhere)
    no_folder = "Instead of a folder there is a link or a file."
    expected = {
        "ada": (None, no_folder, None),
        "bo": (None, no_folder, None),
        "cy": (None, f"'{LAB}.ipynb' is not an ordinary file.", None),
        "di": (None, f"There is no notebook {LAB}.ipynb (none was submitted).", None),
        "eve": (b"{}", "", "now"),
        "fay": (None, no_folder, None),
    }
    for student, (content, note, timestamp) in expected.items():
        found = classroom.read_submission(student, LAB)
        assert found == Submission(student, LAB, content, note, timestamp)
    assert [student for student, _ in classroom.list_submissions([LAB])] == [*expected][:5]
    assert classroom.read_exchange_secret("fay", LAB) is None


def test_results_behind_a_link_are_not_used_and_the_link_is_kept_as_a_note(classroom, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / f"{LAB}.json").write_text("of somebody else")
    classroom.results.mkdir(parents=True)
    (classroom.results / "ada").symlink_to(elsewhere)
    (classroom.results / "bo").mkdir()
    (classroom.results / "bo" / "x.json").write_text("{}")
    files = classroom.list_files(classroom.results, "*/*.json")
    assert files == [classroom.results / "bo" / "x.json"]
    assert classroom.result_path("ada", LAB) == classroom.results / "ada" / f"{LAB}.json"
    assert not (classroom.results / "ada").exists()
    note = classroom.results / "ada.was-a-link"
    assert note.read_text() == f"{elsewhere}\n"
    assert (elsewhere / f"{LAB}.json").read_text() == "of somebody else"


def test_the_choice_for_one_student_depends_on_no_other(monkeypatch):
    """A student whose attempt cannot be read, or is not graded, is left to the next grading."""
    kinds = ("single", "ungraded", "unreadable", "same", "changed hash", "changed name", "lost")
    attempts = {"": GradedAttempt("h-new"), "old": GradedAttempt("h-old", {"a": 1.0})}
    entries = dict.fromkeys(kinds, attempts) | {"single": {}, "ungraded": {**attempts, "": None}}
    stored = {"same": ("old", "h-old"), "changed name": ("", "h-old")}
    attempt = SimpleNamespace(timestamp=None)
    room = SimpleNamespace(
        list_submissions=lambda labs: [(student, LAB) for student in kinds],
        read_attempt=lambda student, name, file: None if student == "unreadable" else attempt,
        read_counted_name=lambda student, name: stored.get(student, ("old", ""))[0],
        result_path=lambda student, name: student,
    )
    replacements = {
        "_read_graded_attempts": lambda room, labs, student, name: entries[student],
        "read_json": lambda student: {"hash": stored.get(student, ("", "h-before"))[1]},
        "load_attempt": lambda room, student, name, stamp: None if student == "lost" else student,
    }
    for name, function in replacements.items():
        monkeypatch.setattr(attempt_choice, name, function)
    policy = Policy(best_attempt=True, points={LAB: {"a": 1.0}})
    found = attempt_choice.find_changed_choices(room, {LAB: None}, policy, Deadlines(), {})
    assert [(choice.name, choice.graded, choice.fingerprint) for choice in found] == [
        ("old", "changed hash", "h-old"),
        ("old", "changed name", "h-old"),
    ]


def test_files_of_a_submission_have_their_names_and_are_not_read_behind_a_link(classroom, tmp_path):
    attempt_choice.store_attempt(classroom, "ada", LAB, "0123456789" * 6, results("ada"))
    names = [path.name for path in (classroom.results / "ada").iterdir()]
    assert names == [f"{LAB}.attempt-01234567890123456789"]
    assert classroom.term_path("ada") == classroom.feedback / "ada" / "term.html"
    folder = submit(classroom, "ada")
    assert classroom.read_exchange_secret("ada", LAB) is None
    (folder / "submission_secret.txt").write_text("secret\n")
    assert classroom.read_exchange_secret("ada", LAB) == "secret"
    earlier = classroom.root / "submitted-earlier" / "ada" / LAB
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for number in (1, 2):
        (elsewhere / attempt_name(number)).write_text("{}")
    assert classroom.count_earlier_attempts("ada", LAB) == 0
    earlier.parent.mkdir(parents=True)
    earlier.symlink_to(elsewhere)
    assert classroom.read_attempt("ada", LAB, attempt_name(1)) is None
    assert list(classroom.read_attempts("ada", LAB)) == [""]
    earlier.unlink()
    elsewhere.rename(earlier)
    assert classroom.count_earlier_attempts("ada", LAB) == 2
    assert classroom.read_attempt("ada", LAB, attempt_name(1)).content == b"{}"


def test_a_classroom_behind_a_link_has_files(tmp_path):
    """Only links below the folder are a student's."""
    (tmp_path / "real" / "ada").mkdir(parents=True)
    (tmp_path / "real" / "ada" / "x.json").write_text("{}")
    (tmp_path / "real" / "ada" / "y.json").symlink_to(tmp_path / "real" / "ada" / "x.json")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    for top in (tmp_path / "real", tmp_path / "link"):
        assert Classroom.list_files(top, "*/*.json") == [top / "ada" / "x.json"]


def test_a_new_due_date_extends_that_of_course_toml_or_else_the_gradebook_s():
    due = datetime(2026, 1, 2, 18, tzinfo=UTC)
    policy = Policy(due_dates={LAB: due, "training": None, "positions": None})
    extension = dict.fromkeys((LAB, "training", "positions"), "2026-01-05 18:00")
    class_list = ClassList(people={"ada": Person(student="ada", extension=extension)})
    in_gradebook = {LAB: datetime(2026, 1, 4, 18), "training": datetime(2026, 1, 4, 18)}
    assert class_list.read_extensions(policy, in_gradebook) == {
        ("ada", LAB): timedelta(days=3),
        ("ada", "training"): timedelta(days=1),
    }
    long_text = ClassList(people={"ada": Person(student="ada", submission_times={LAB: "x" * 41})})
    with pytest.raises(ClassListError, match=f"ada: '{'x' * 40}' is no time when {LAB}"):
        long_text.read_roster_submission_times(policy)


def test_a_notebook_of_the_largest_size_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(classroom_module, "MAX_NOTEBOOK_BYTES", 3)
    path = tmp_path / "x.ipynb"
    path.write_bytes(b"123")
    assert classroom_module.read_notebook(path) == (b"123", "")
    path.write_bytes(b"1234")
    data, reason = classroom_module.read_notebook(path)
    assert data is None and reason.startswith("The file is 0 MB; a notebook of at most 0 MB can be")


def test_labs_without_a_date_in_the_gradebook_have_no_due_date():
    due = datetime(2026, 1, 2)
    tables = [
        Rows([(LAB, due), ("training", None)]),
        Rows([("ada", LAB, timedelta(days=1)), ("bo", LAB, None)]),
    ]
    policy = Policy(due_dates=dict.fromkeys((LAB, "training")))
    found = read_deadlines(lambda *columns: tables.pop(0), policy, ClassList())
    assert found == Deadlines({LAB: due}, {("ada", LAB): timedelta(days=1)})
    assert read_deadlines(None, policy, ClassList()) == Deadlines()
