"""The students' commands: what they pass on, print, ask, and return as exit codes."""

import builtins
from datetime import datetime
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from our_course import COURSE

from autograder.cli import main, options
from autograder.cli import student as commands
from autograder.student import check_notebook as checking
from autograder.student import jupyterlab, workspace
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


@pytest.fixture
def course_here(monkeypatch):
    monkeypatch.setenv("AUTOGRADER_COURSE", str(COURSE.root))


def run(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture
def outdated(course_here, monkeypatch):
    """Let copies of two labs be older than the course's text; nothing is copied."""
    headings = {"positions": ["Sines"], "training": ["A", "B", "C", "D"]}
    monkeypatch.setattr(workspace, "find_outdated_labs", lambda folder, course: headings)
    monkeypatch.setattr(workspace, "copy_labs", lambda folder, course: ["positions"])


OUTDATED_LINES = [
    "positions: your copy is older than the course's text, which has changed in “Sines”. "
    "`autograder update w/positions/positions.ipynb` takes it over; your answers stay.",
    "training: your copy is older than the course's text, which has changed in “A”, “B”, “C” and "
    "1 other place. `autograder update w/training/training.ipynb` takes it over; your answers "
    "stay.",
]


def test_start_says_what_it_copied_and_what_is_outdated(outdated, monkeypatch):
    assert run("start", "w").stdout.splitlines() == ["1 lab copied to w.", *OUTDATED_LINES]
    monkeypatch.setattr(workspace, "copy_labs", lambda folder, course: [])
    assert run("start", "w").stdout.splitlines()[0] == "w has all the labs already."


def test_start_needs_no_folder(course_here, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    folders = []
    monkeypatch.setattr(workspace, "find_outdated_labs", lambda folder, course: {})
    monkeypatch.setattr(workspace, "copy_labs", lambda folder, course: folders.append(str(folder)))
    run("start")
    assert folders == ["work"]


def test_lab_copies_new_labs_and_passes_the_options_of_jupyterlab_on(outdated, monkeypatch):
    calls = []
    monkeypatch.setattr(jupyterlab, "serve_jupyterlab", lambda *arguments: calls.append(arguments))
    copied = []
    monkeypatch.setattr(
        workspace, "copy_labs", lambda folder, course: copied.append((str(folder), course.id))
    )
    ran = run("lab", "w", "--no-browser", "--port=9999")
    assert ran.exit_code == 0 and ran.stdout.splitlines() == OUTDATED_LINES
    ((folder, labs, options),) = calls
    assert (str(folder), labs, options) == ("w", COURSE.labs, ("--no-browser", "--port=9999"))
    assert copied == [("w", COURSE.id)]


@pytest.mark.parametrize(
    ("missing", "exit_code"), [("jupyterlab", 2), ("autograder.student.jupyterlab_layout", 1)]
)
def test_lab_without_jupyterlab_is_a_sentence_and_a_fault_of_the_engine_is_none(
    outdated, monkeypatch, missing, exit_code
):
    import_module = builtins.__import__

    def refuse(name, *arguments):
        if name == "autograder.student.jupyterlab":
            raise ModuleNotFoundError("No module", name=missing)
        return import_module(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", refuse)
    ran = run("lab", "w")
    assert ran.exit_code == exit_code
    assert ("JupyterLab is not installed here: `make lab`" in ran.output) == (exit_code == 2)


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ((["A", "B"], "lab.before.ipynb"), "lab: changed in “A” and “B”. Your version is kept in"),
        (([], "lab.ipynb"), "lab: your copy is up to date."),
    ],
)
def test_update_says_what_changed(course_here, monkeypatch, changes, line):
    monkeypatch.setattr(workspace, "update_student_notebook", lambda path: changes)
    assert run("update", "lab.ipynb").stdout.startswith(line)


@pytest.mark.parametrize(("passed", "exit_code"), [((True, True), 0), ((True, False), 1)])
def test_check_prints_a_line_for_each_exercise(course_here, monkeypatch, passed, exit_code):
    statuses = [
        SimpleNamespace(exercise=f"ex{i}", passed=right, message="So\x07 it is.")
        for i, right in enumerate(passed)
    ]
    monkeypatch.setattr(checking, "check_notebook", lambda path: statuses)
    ran = run("check", "lab.ipynb")
    signs = ["✓" if right else "✗" for right in passed]
    lines = ran.stdout.splitlines()
    assert ran.exit_code == exit_code and len(lines) == 2, ran.stdout
    assert [line[:6] for line in lines] == [f"{sign} ex{i}:" for i, sign in enumerate(signs)]
    assert "\x07" not in ran.stdout


@pytest.mark.parametrize("folder", [".", "../lab", "lab.ipynb"])
def test_the_folder_of_a_lab_stands_for_its_notebook(tmp_path, monkeypatch, folder):
    (tmp_path / "lab").mkdir()
    (tmp_path / "lab" / "lab.ipynb").write_text("{}")
    monkeypatch.chdir(tmp_path / "lab")
    path = options.NOTEBOOK_TYPE.convert(folder, None, None)
    assert path.resolve() == tmp_path / "lab" / "lab.ipynb"


@pytest.mark.parametrize(
    ("exercise", "backup", "line"),
    [
        (
            "softmax",
            "kept.ipynb",
            "softmax is as it was at the start. Your version is kept in kept",
        ),
        (None, "kept.ipynb", "lab is as it was at the start. Your version is kept in kept.ipynb."),
        (None, None, "lab is still as it was at the start. Nothing was changed."),
    ],
)
def test_reset_passes_the_exercise_on(course_here, monkeypatch, exercise, backup, line):
    calls = []

    def reset_copy(notebook, name):
        calls.append((str(notebook), name))
        return backup

    monkeypatch.setattr(workspace, "reset_copy", reset_copy)
    ran = run("reset", "lab.ipynb", *filter(None, [exercise]))
    assert calls == [("lab.ipynb", exercise)] and ran.stdout.startswith(line)


def test_a_folder_that_is_named_by_a_dot_stands_for_its_notebook(notebook, monkeypatch):
    monkeypatch.chdir(notebook.parent)
    paths = []
    monkeypatch.setattr(
        workspace, "update_student_notebook", lambda path: (paths.append(str(path)) or [], path)
    )
    assert run("update", ".").exit_code == 0
    assert paths == ["qkv-attention.ipynb"]


def test_three_changed_sections_are_all_named(outdated, monkeypatch):
    headings = {"training": ["A", "B", "C"]}
    monkeypatch.setattr(workspace, "find_outdated_labs", lambda folder, course: headings)
    assert "which has changed in “A”, “B” and “C”. `auto" in run("start", "w").stdout
