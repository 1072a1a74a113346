"""What one sees of a run, and what is said when it ends early."""

import errno
import json
import os
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from our_course import ROOT

from autograder import cli, files
from autograder.grading import intake
from autograder.grading.nbgrader import gradebook
from autograder.grading.reports import feedback, page
from autograder.grading.run import grade, progress
from autograder.results import Result, Verdict

LAB = "additive-attention"
ROW = Result(
    student="ada", lab=LAB, exercise="alignment", score=2.0, max_score=2.0, verdict=Verdict.PASS, seconds=0.1
)

pytestmark = pytest.mark.filterwarnings("ignore")


def test_without_a_terminal_a_line_now_and_then(monkeypatch, capsys):
    clock = iter([0, *range(20, 121)])  # a hand-in a second, after twenty to begin
    monkeypatch.setattr(progress, "monotonic", lambda: next(clock))
    with progress.progress("marking") as told:
        told.started(100)
        for _ in range(100):
            told.finished()
    assert capsys.readouterr().err.splitlines() == [
        "marking: 1 of 100",
        "marking: 31 of 100, 1.0 a second, about 1 min 9 s to go",
        "marking: 61 of 100, 1.0 a second, about 39 s to go",
        "marking: 91 of 100, 1.0 a second, about 9 s to go",
    ]


def test_rows_are_in_the_file_as_they_become_known(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("of an earlier run\n")
    with cli._json_lines(str(path)) as put:
        assert path.read_text() == "of an earlier run\n"  # which stays until there is something to say
        put(ROW)
        assert json.loads(path.read_text())["exercise"] == "alignment"
        put(ROW)
        assert len(path.read_text().splitlines()) == 2
    with cli._json_lines(str(path)):
        pass
    assert path.read_text() == ""  # a run without a row


COMMANDS = {
    "collect": (intake, "collect", "What is filed is kept; the same command goes on from there."),
    "grade": (grade, "grade", "What is marked is kept; the same command goes on from there."),
    "feedback": (feedback, "write_feedback", "The pages made so far are kept; the same command goes on"),
    "report": (page, "write_report", "No mark is changed."),
}


def run(command, tmp_path, monkeypatch, error):
    def ended(*_, **__):
        raise error

    module, function, _ = COMMANDS[command]
    monkeypatch.setattr(module, function, ended)
    monkeypatch.setenv("AUTOGRADER_COURSE", str(ROOT))
    (tmp_path / "submitted" / "ada" / LAB).mkdir(parents=True)
    what = [str(tmp_path)] if command == "collect" else []
    return CliRunner().invoke(cli.main, [command, *what, "--classroom", str(tmp_path)])


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

    def opened(handle, mode):
        full = Full()
        full.handle = handle
        return full

    monkeypatch.setattr(files, "os", SimpleNamespace(**{**vars(os), "fdopen": opened}))
    with pytest.raises(OSError) as caught:
        files.write(tmp_path / "x", "text")
    assert not list(tmp_path.glob(".x*"))
    ran = run(command, tmp_path, monkeypatch, caught.value)
    assert ran.exit_code == 1
    assert f"Error: {tmp_path / 'x'}: No space left on device. Give it room" in ran.stderr


def test_a_due_date_goes_with_its_line_and_one_of_the_gradebooks_own_stays(tmp_path):
    from datetime import UTC, datetime

    from our_course import COURSE

    from autograder.grading.register.classroom import Classroom

    place, due = Classroom(tmp_path, COURSE), datetime(2026, 1, 2, 18, tzinfo=UTC)
    with gradebook.opened(place) as book:

        def after(wanted):
            gradebook.set_due(book, place, LAB, wanted)
            return book.find_assignment(LAB).duedate

        assert after(None) is None
        assert after(due) == due.replace(tzinfo=None)
        assert after(None) is None
        book.update_or_create_assignment(LAB, duedate=due.replace(tzinfo=None))  # in the formgrader
        assert after(None) == due.replace(tzinfo=None)


def test_a_class_to_try_things_on_keeps_its_due_date(tmp_path):
    import sample_class
    from our_course import COURSE, lab

    from autograder.grading.register.classroom import Classroom
    from autograder.grading.register.policy import read_policy

    sample_class.main(tmp_path, LAB, 1)
    with gradebook.Book(Classroom(tmp_path, COURSE)) as book:
        book.prepare([lab(LAB)], read_policy(COURSE, {LAB: lab(LAB)}))
    with gradebook.opened(Classroom(tmp_path, COURSE)) as book:
        assert book.find_assignment(LAB).duedate  # some of its hand-ins are late


def test_the_formgraders_list_finds_a_hand_ins_notebooks_by_an_index(tmp_path):
    from our_course import COURSE, lab
    from sqlalchemy import text

    from autograder.grading.register.classroom import Classroom
    from autograder.grading.register.policy import read_policy

    for _ in range(2):  # a class that has it keeps it
        with gradebook.Book(Classroom(tmp_path, COURSE)) as book:
            book.prepare([lab(LAB)], read_policy(COURSE, {LAB: lab(LAB)}))
    wanted = "EXPLAIN QUERY PLAN SELECT * FROM submitted_notebook WHERE assignment_id = 'x'"
    with gradebook.opened(Classroom(tmp_path, COURSE)) as book:
        assert "USING INDEX" in str(book.db.execute(text(wanted)).fetchall())
