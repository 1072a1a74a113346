"""Tests of the progress display, and of the messages of a run that ends early."""

import errno
import json
import os
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from our_course import ROOT

from autograder import intake
from autograder.cli import instructor, main
from autograder.core import files
from autograder.core.results import Result, Verdict
from autograder.gradebook import nbgrader_db
from autograder.gradebook.gradebook_writer import GradebookWriter
from autograder.grading import progress
from autograder.grading import run as grade
from autograder.reports import class_page, feedback_pages

LAB = "additive-attention"
ROW = Result(
    student="ada",
    lab=LAB,
    exercise="alignment",
    score=2.0,
    max_score=2.0,
    verdict=Verdict.PASS,
    seconds=0.1,
)

pytestmark = pytest.mark.filterwarnings("ignore")


def test_without_a_terminal_a_line_now_and_then(monkeypatch, capsys):
    clock = iter([0, *range(20, 121)])  # a submission a second, after twenty to begin
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    with progress.show_progress("marking") as display:
        display.start(100)
        for _ in range(100):
            display.advance()
    assert capsys.readouterr().err.splitlines() == [
        "marking: 1 of 100",
        "marking: 31 of 100, 1.0 a second, about 1 min 9 s to go",
        "marking: 61 of 100, 1.0 a second, about 39 s to go",
        "marking: 91 of 100, 1.0 a second, about 9 s to go",
    ]


def test_rows_are_in_the_file_as_they_become_known(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("of an earlier run\n")
    with instructor._open_results_file(str(path)) as write_result:
        # Which stays until there is something to say
        assert path.read_text() == "of an earlier run\n"
        write_result(ROW)
        assert json.loads(path.read_text())["exercise"] == "alignment"
        write_result(ROW)
        assert len(path.read_text().splitlines()) == 2
    with instructor._open_results_file(str(path)):
        pass
    assert path.read_text() == ""  # a run without a row


COMMANDS = {
    "collect": (intake, "collect", "What is filed is kept; the same command goes on from there."),
    "grade": (grade, "grade_class", "What is marked is kept; the same command goes on from there."),
    "feedback": (
        feedback_pages,
        "write_feedback_pages",
        "The pages made so far are kept; the same command goes on",
    ),
    "report": (class_page, "write_report", "No mark is changed."),
}


def run(command, tmp_path, monkeypatch, error):
    def fail(*_, **__):
        raise error

    module, function, _ = COMMANDS[command]
    monkeypatch.setattr(module, function, fail)
    monkeypatch.setenv("AUTOGRADER_COURSE", str(ROOT))
    (tmp_path / "submitted" / "ada" / LAB).mkdir(parents=True)
    arguments = [str(tmp_path)] if command == "collect" else []
    return CliRunner().invoke(main, [command, *arguments, "--classroom", str(tmp_path)])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_stopped_says_what_is_kept(command, tmp_path, monkeypatch):
    ran = run(command, tmp_path, monkeypatch, KeyboardInterrupt())
    assert ran.exit_code == 130
    assert f"Stopped. {COMMANDS[command][2]}" in ran.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_a_full_disk_is_named_with_its_place(command, tmp_path, monkeypatch):
    class Full:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            os.close(self.handle)

        def write(self, _):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def open_full(handle, mode):
        full = Full()
        full.handle = handle
        return full

    monkeypatch.setattr(files, "os", SimpleNamespace(**{**vars(os), "fdopen": open_full}))
    with pytest.raises(OSError) as caught:
        files.write_file(tmp_path / "x", "text")
    assert not list(tmp_path.glob(".x*"))
    ran = run(command, tmp_path, monkeypatch, caught.value)
    assert ran.exit_code == 1
    assert f"Error: {tmp_path / 'x'}: No space left on device. Give it room" in ran.stderr


def test_a_due_date_goes_with_its_line_and_one_of_the_gradebooks_own_stays(tmp_path):
    from datetime import UTC, datetime

    from our_course import COURSE

    from autograder.gradebook.classroom import Classroom

    classroom, due = Classroom(tmp_path, COURSE), datetime(2026, 1, 2, 18, tzinfo=UTC)
    with nbgrader_db.open_gradebook(classroom) as gradebook:

        def set_and_read(new_due):
            nbgrader_db.set_due_date(gradebook, classroom, LAB, new_due)
            return gradebook.find_assignment(LAB).duedate

        assert set_and_read(None) is None
        assert set_and_read(due) == due.replace(tzinfo=None)
        assert set_and_read(None) is None
        # In the formgrader
        gradebook.update_or_create_assignment(LAB, duedate=due.replace(tzinfo=None))
        assert set_and_read(None) == due.replace(tzinfo=None)


@pytest.mark.long
def test_a_class_to_try_things_on_keeps_its_due_date(tmp_path):
    import sample_class
    from our_course import COURSE, lab

    from autograder.gradebook.classroom import Classroom
    from autograder.gradebook.policy import read_policy

    sample_class.main(tmp_path, LAB, 1)
    with GradebookWriter(Classroom(tmp_path, COURSE)) as gradebook:
        gradebook.save_labs([lab(LAB)], read_policy(COURSE, {LAB: lab(LAB)}))
    with nbgrader_db.open_gradebook(Classroom(tmp_path, COURSE)) as gradebook:
        assert gradebook.find_assignment(LAB).duedate  # some of its submissions are late


def test_the_formgraders_list_finds_a_submissions_notebooks_by_an_index(tmp_path):
    from our_course import COURSE, lab
    from sqlalchemy import text

    from autograder.gradebook.classroom import Classroom
    from autograder.gradebook.policy import read_policy

    for _ in range(2):  # a class that has it keeps it
        with GradebookWriter(Classroom(tmp_path, COURSE)) as gradebook:
            gradebook.save_labs([lab(LAB)], read_policy(COURSE, {LAB: lab(LAB)}))
    new_due = "EXPLAIN QUERY PLAN SELECT * FROM submitted_notebook WHERE assignment_id = 'x'"
    with nbgrader_db.open_gradebook(Classroom(tmp_path, COURSE)) as gradebook:
        assert "USING INDEX" in str(gradebook.db.execute(text(new_due)).fetchall())
