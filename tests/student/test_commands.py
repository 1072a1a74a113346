"""`autograder reset` asks before it empties a lab; a lab's folder stands for its notebook."""

from datetime import datetime
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from our_course import COURSE

from autograder.cli import main
from autograder.cli import student as commands
from autograder.student import workspace
from autograder.student.workspace import copy_labs


@pytest.fixture
def notebook(tmp_path, monkeypatch):
    monkeypatch.setenv("AUTOGRADER_COURSE", str(COURSE.root))
    copy_labs(tmp_path, COURSE)
    path = tmp_path / "qkv-attention" / "qkv-attention.ipynb"
    path.write_text(path.read_text("utf-8").replace("raise NotImplementedError()", "pass"), "utf-8")
    return path


@pytest.mark.parametrize(("answer", "is_reset"), [("n\n", False), ("y\n", True)])
def test_a_reset_of_a_whole_lab_asks_first(notebook, monkeypatch, answer, is_reset):
    monkeypatch.setattr(commands, "_is_terminal", lambda: True)
    result = CliRunner().invoke(main, ["reset", str(notebook)], input=answer)
    assert (
        "Reset all exercises of qkv-attention.ipynb? (To reset one, give its name.)"
        in result.output
    )
    assert ("NotImplementedError" in notebook.read_text("utf-8")) is is_reset


def test_a_reset_of_one_exercise_and_a_reset_in_a_script_ask_nothing(notebook, monkeypatch):
    result = CliRunner().invoke(main, ["reset", str(notebook)])
    assert result.exit_code == 0 and "Reset all" not in result.output
    monkeypatch.setattr(commands, "_is_terminal", lambda: True)
    result = CliRunner().invoke(main, ["reset", str(notebook), "softmax"])
    assert result.exit_code == 0 and "Reset all" not in result.output


def test_a_reset_of_what_is_untouched_leaves_nothing_behind(notebook):
    CliRunner().invoke(main, ["reset", str(notebook)])
    for path in notebook.parent.glob("*.before-reset-*"):
        path.unlink()
    for arguments in (["softmax"], []):
        result = CliRunner().invoke(main, ["reset", str(notebook), *arguments])
        assert result.exit_code == 0 and "Nothing was changed." in result.output
    assert list(notebook.parent.glob("*.before-reset-*")) == []


def test_backups_of_the_same_second_are_both_kept(tmp_path, monkeypatch):
    moments = [datetime(2026, 11, 20, 14, 3, 22, microsecond) for microsecond in (7, 8)]
    monkeypatch.setattr(workspace, "datetime", SimpleNamespace(now=lambda: moments.pop()))
    path = tmp_path / "lab.ipynb"
    backups = []
    for text in ("first", "second"):
        path.write_text(text)
        backups.append(workspace._back_up_notebook(path, "reset"))
    assert [backup.read_text() for backup in backups] == ["first", "second"]


def test_a_lab_s_folder_stands_for_its_notebook(notebook):
    result = CliRunner().invoke(main, ["reset", str(notebook.parent), "softmax"])
    assert result.exit_code == 0, result.output
    assert notebook.read_text("utf-8").count("raise NotImplementedError()") >= 1
    result = CliRunner().invoke(main, ["reset", str(notebook.parent.parent), "softmax"])
    assert result.exit_code == 2 and "is a directory" in result.output
