"""A foreign notebook runs in a sandbox while it is imported; without one, the person is asked."""

import builtins
import os

import nbformat
import pytest
from click.testing import CliRunner
from nbformat.v4 import new_code_cell, new_notebook

from autograder.cli import main
from autograder.sandbox import bubblewrap
from course_import import command, importer, record_calls
from course_import.record_calls import RecordingError, record_notebook

needs_bubblewrap = pytest.mark.skipif(
    bool(bubblewrap.explain_why_no_command_runs()),
    reason=bubblewrap.explain_why_no_command_runs() or "there is a sandbox",
)
REASON = "There is no bubblewrap."


def record_variable(source, folder, in_sandbox=True):
    """Return the value of the variable `seen` after a cell with this source."""
    cells = [
        {"number": 1, "source": source, "is_test": False, "variables": []},
        {"number": 2, "source": "", "is_test": True, "variables": ["seen"]},
    ]
    for cell in cells:
        cell |= {"functions": [], "tests": []}
    recording = record_notebook(cells, folder, in_sandbox)
    assert recording.errors == {}
    value, problem = recording.variables[2, "seen"]
    assert not problem
    return value


@needs_bubblewrap
def test_a_notebook_sees_the_files_beside_it_and_nothing_else(tmp_path, monkeypatch):
    folder = tmp_path / "assignment"
    folder.mkdir()
    (folder / "table.csv").write_text("7")
    secret = tmp_path / "secret"
    secret.write_text("hidden")
    monkeypatch.setenv("TOKEN", "hidden")
    tried = f"""
import os, pathlib, socket
seen = [open("table.csv").read(), os.path.exists({str(secret)!r}), "TOKEN" in os.environ]
for attempt in (
    lambda: open({str(secret)!r}, "w"),
    lambda: open("/usr/written", "w"),
    lambda: socket.create_connection(("192.0.2.1", 80), timeout=5),
    lambda: os.kill({os.getpid()}, 0),
):
    try:
        attempt()
        seen.append("done")
    except OSError as error:
        seen.append("refused")
pathlib.Path("new").write_text("x")
"""
    expected = ["7", False, False, "refused", "refused", "refused", "refused"]
    assert record_variable(tried, folder) == expected
    assert secret.read_text() == "hidden" and not (folder / "new").exists()


def test_without_a_sandbox_a_notebook_sees_the_machine(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("open")
    (tmp_path / "assignment").mkdir()
    source = f"seen = open({str(secret)!r}).read()"
    assert record_variable(source, tmp_path / "assignment", in_sandbox=False) == "open"


@needs_bubblewrap
@pytest.mark.parametrize("make", ["os.symlink('/etc/passwd', path)", "os.mkfifo(path)"])
def test_a_recording_that_is_no_file_is_refused(tmp_path, make):
    source = f"import os\npath = '../recording'\n{make}\nos._exit(0)"
    with pytest.raises(RecordingError, match="ended its process"):
        record_variable(source, tmp_path)


def test_a_recording_is_read_up_to_a_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(record_calls, "MAX_RECORDING_BYTES", 10)
    with pytest.raises(RecordingError):
        record_variable("seen = 1", tmp_path, in_sandbox=False)


@pytest.fixture
def imported(tmp_path, monkeypatch):
    """Return a function that runs the command; the list of its calls gets `in_sandbox` of each run."""
    runs = []

    def import_notebook(path, course, in_sandbox):
        runs.append(in_sandbox)
        return importer.ImportReport("tiles", [], [])

    monkeypatch.setattr(importer, "import_notebook", import_notebook)
    monkeypatch.setattr(command, "find_course", lambda: None)
    notebook = tmp_path / "tiles.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell("1")]), notebook)

    def run(*options, reason="", answer=None):
        monkeypatch.setattr(bubblewrap, "explain_why_no_command_runs", lambda: reason)
        monkeypatch.setattr(command, "is_interactive", lambda: answer is not None)
        ran = CliRunner().invoke(main, ["import", str(notebook), *options], input=answer)
        return ran.exit_code, ran.output, runs

    return run


def test_where_a_sandbox_starts_nobody_is_asked(imported):
    code, output, runs = imported(answer="")
    assert (code, runs) == (0, [True]) and "sandbox" not in output


def test_a_person_who_trusts_the_notebook_is_asked_once(imported):
    code, output, runs = imported(reason=REASON, answer="y\n")
    assert (code, runs) == (0, [False])
    assert REASON in output and "can read and change all your files" in output


def test_a_person_who_does_not_agree_imports_nothing(imported):
    code, output, runs = imported(reason=REASON, answer="\n")
    assert (code, runs) == (2, []) and "Nothing was imported." in output


def test_where_nobody_can_be_asked_the_option_is_named(imported):
    code, output, runs = imported(reason=REASON)
    assert (code, runs) == (2, []) and "--without-sandbox" in output


def test_the_option_answers_in_advance(imported):
    code, output, runs = imported("--without-sandbox", reason=REASON)
    assert (code, runs) == (0, [False]) and REASON not in output


@pytest.mark.parametrize(
    ("platform", "program", "sentence"),
    [
        ("darwin", "/bin/true", bubblewrap.NOT_LINUX_MESSAGE),
        ("linux", None, bubblewrap.NOT_INSTALLED_MESSAGE),
        ("linux", "/bin/false", "exit code 1"),
        ("linux", "/nowhere/bwrap", "No such file"),
    ],
)
def test_the_reason_is_said_where_no_command_runs(monkeypatch, platform, program, sentence):
    monkeypatch.setattr(bubblewrap.sys, "platform", platform)
    monkeypatch.setattr(bubblewrap, "find_bubblewrap", lambda: program)
    monkeypatch.setattr(bubblewrap.bubblewrap_from_pypi, "explain_rejection", lambda: "")
    bubblewrap.explain_why_no_command_runs.cache_clear()
    assert sentence in bubblewrap.explain_why_no_command_runs()
    bubblewrap.explain_why_no_command_runs.cache_clear()


def test_a_notebook_runs_within_limits_of_time_and_memory(tmp_path, monkeypatch):
    resource = pytest.importorskip("resource")
    limits, timeouts = {}, []
    monkeypatch.setattr(resource, "setrlimit", limits.__setitem__)
    monkeypatch.setattr(builtins, "display", None, raising=False)  # `main` replaces it
    with pytest.raises(FileNotFoundError):
        record_calls.main(tmp_path / "no folder")
    assert limits[resource.RLIMIT_CPU][0] == record_calls.MAX_CPU_SECONDS
    assert limits[resource.RLIMIT_AS] == (record_calls.MAX_MEMORY_BYTES,) * 2
    monkeypatch.setattr(
        record_calls.subprocess, "run", lambda *_, timeout, **options: timeouts.append(timeout)
    )
    record_calls._run_recorder(tmp_path, None, in_sandbox=False)
    assert timeouts == [record_calls.MAX_WALL_SECONDS]
