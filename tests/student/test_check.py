"""`check`, `ready`, `progress` and `criteria` in a student's notebook."""

import ctypes
import inspect
import json
import shutil
import signal
import threading
import time
from dataclasses import replace
from functools import partial
from types import SimpleNamespace

import nbformat
import numpy as np
import pytest
from functions_in_cells import define_in_cell
from nbformat.v4 import new_code_cell, new_notebook
from our_course import COURSE, ROOT

from autograder.authoring.lab import read_lab
from autograder.core import time_limit
from autograder.core.notebook_cells import get_grade_id
from autograder.core.results import Verdict
from autograder.diagnosis.argument_probe import explain_by_arguments, find_unused_arrays
from autograder.diagnosis.source_slips import SourceSlip
from autograder.judging.judge import Finding, describe_broken_dependency
from autograder.student import answer_key
from autograder.student import check as check_module
from autograder.student import check_notebook as notebook_module
from autograder.student.check import CheckFailed, check, criteria, progress, ready
from autograder.student.check_notebook import NotebookError, check_notebook
from autograder.student.workspace import reset_copy
from autograder.values.case_records import CallOutcome, ComparisonRules, Inputs, TestCase
from autograder.values.common_mistakes import NOT_WRITTEN_MESSAGE


def softmax(x, axis=0):
    e = np.exp(x)
    return e / e.sum(axis=axis, keepdims=True)


RIGHT = softmax


def rename_function(function, name="softmax"):
    function.__name__ = name
    return function


def test_a_right_answer_gets_a_line_a_case_and_its_points(capsys):
    check(RIGHT)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 5
    assert all(line.startswith("✓ ") for line in lines[:-1])
    assert lines[-1].startswith("softmax: correct in all 9 cases and ")
    assert lines[-1].endswith("Next: stable_softmax.")
    assert "point" in lines[-1]


def test_a_known_mistake_is_explained_in_words_and_numbers(capsys):
    wrong = rename_function(lambda x, axis=0: np.exp(x) / np.exp(x).sum())
    with pytest.raises(CheckFailed) as caught:
        check(wrong)
    output = capsys.readouterr().out
    assert "✗" in output
    assert "What it means:" in output
    assert "To think about:" in output
    assert "Expected:" in output
    assert caught.value._render_traceback_() == [str(caught.value._line)]
    assert "\n" not in caught.value._line


@pytest.fixture
def key_with_note(monkeypatch):
    """Answer key of softmax with a portability note, in a lab that is graded with BACKEND=one."""
    key = replace(answer_key.load_exercise_key("softmax"), portability_note="Overflow differs.")
    lab = replace(answer_key.find_lab("softmax"), graded_with={"BACKEND": "one"})
    monkeypatch.setattr(answer_key, "load_exercise_key", lambda name: key)
    monkeypatch.setattr(answer_key, "find_lab", lambda name: lab)
    return key


@pytest.mark.usefixtures("key_with_note")
def test_a_check_under_another_environment_says_that_the_mark_may_differ(capsys, monkeypatch):
    note = (
        "This check ran with BACKEND=two; marks are given with BACKEND=one, and a verdict may differ. "
        "Overflow differs."
    )
    monkeypatch.setenv("BACKEND", "two")
    check(RIGHT)
    assert capsys.readouterr().out.splitlines()[-1] == note
    with pytest.raises(CheckFailed):
        check(rename_function(lambda x, axis=0: x))
    assert note in capsys.readouterr().out.splitlines()


@pytest.mark.usefixtures("key_with_note")
@pytest.mark.parametrize("value", ["one", None])
def test_a_check_as_marks_are_given_says_nothing_of_the_environment(value, capsys, monkeypatch):
    monkeypatch.delenv("BACKEND", raising=False)
    if value:
        monkeypatch.setenv("BACKEND", value)
    check(RIGHT)
    assert "Overflow" not in capsys.readouterr().out


def test_the_count_matches_the_printed_cases(capsys):
    def check_and_count(function):
        with pytest.raises(CheckFailed) as caught:
            check(rename_function(function))
        lines = capsys.readouterr().out.splitlines()
        return caught.value._line, [line[0] for line in lines if line[:2] in ("✓ ", "✗ ")]

    line, marks = check_and_count(lambda x, axis=0: np.exp(x))
    assert line.endswith(f": {marks.count('✓')} of {len(marks)} cases are right.")

    def wrong_for_large(x, axis=0):
        return stable(x, axis) if x.size < 900 else x

    def stable(x, axis):
        return np.exp(x - x.max(axis, keepdims=True)) / np.exp(x - x.max(axis, keepdims=True)).sum(
            axis,
            keepdims=True,
        )

    line, marks = check_and_count(wrong_for_large)
    right, wrong = marks.count("✓"), marks.count("✗")
    assert wrong and f"correct in all {right} cases, wrong in {wrong} of " in line


def test_an_untouched_stub_gets_a_clean_message(capsys):
    def stub(x, axis=0):
        raise NotImplementedError

    with pytest.raises(CheckFailed) as caught:
        check(rename_function(stub))
    assert caught.value._line == "softmax: not written yet."
    assert capsys.readouterr().out.startswith(NOT_WRITTEN_MESSAGE)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (3, "check needs the function itself, not an int"),
        ("softmax", "check needs the function itself, not the text 'softmax'"),
        (np.ones(3), "check needs the function itself, not an ndarray"),
        (rename_function(lambda x, axis=0: x, "sotfmax"), "No exercise is called 'sotfmax'"),
        (
            rename_function(lambda: 1),
            "Your softmax() cannot be called as softmax(…): too many positional arguments.",
        ),
        (rename_function(lambda x: x), "Put the stub's first line back as it was."),
    ],
)
def test_bad_input_gets_one_sentence(answer, sentence):
    with pytest.raises(CheckFailed) as caught:
        check(answer)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda x, axis=0: None, "Your function returned None."),
        (lambda x, axis=0: print(x), "Your function returned None."),
        (lambda x, axis=0: 1 / 0, "Your function raised ZeroDivisionError: division by zero"),
        (
            lambda x, axis=0: "text",
            "Your function returned a text (str); expected a NumPy array of shape (3,).",
        ),
    ],
)
def test_bad_results_get_one_sentence(answer, sentence, capsys):
    with pytest.raises(CheckFailed):
        check(rename_function(answer))
    assert sentence in capsys.readouterr().out


def test_ready_says_what_a_cell_waits_for(capsys):
    assert ready(RIGHT)
    assert not ready(RIGHT, rename_function(lambda x, axis=0: x))
    assert capsys.readouterr().out == "This cell runs once softmax is right.\n"


@pytest.mark.parametrize("call", [lambda: check(RIGHT), lambda: ready(RIGHT), progress])
def test_without_its_answers_a_notebook_says_where_it_belongs(call, monkeypatch):
    monkeypatch.setattr(answer_key, "load_lab_descriptions", dict)
    with pytest.raises(CheckFailed, match="a lab's notebook belongs beside its folder `answers`"):
        call()


def test_progress_counts_what_passed(capsys, monkeypatch):
    monkeypatch.setattr(check_module, "_passed_checks", {})
    check(RIGHT)
    with pytest.raises(CheckFailed):
        check(rename_function(lambda x, axis=0: x, "stable_softmax"))
    capsys.readouterr()
    progress()
    output = capsys.readouterr().out
    assert "✓ softmax" in output
    assert "✗ stable_softmax" in output
    assert "· calculate_weights" in output
    with pytest.raises(CheckFailed, match="There is no lab 'x'"):
        progress("x")


def test_a_certificate_is_shown_once_everything_has_passed(capsys, monkeypatch):
    names = list(check_module.answer_key.load_lab_descriptions()["tiny-transformer"].points)
    for passed_checks, is_shown in (
        (dict.fromkeys(names[1:], True), False),
        (dict.fromkeys(names, True), True),
    ):
        monkeypatch.setattr(check_module, "_passed_checks", passed_checks)
        progress("tiny-transformer")
        assert ("You have come a long way" in capsys.readouterr().out) == is_shown
    monkeypatch.setattr(
        check_module,
        "_passed_checks",
        dict.fromkeys(check_module.answer_key.list_exercises(), True),
    )
    progress("qkv-attention")  # it has none
    assert capsys.readouterr().out.endswith("for what you explain in words.\n")


def test_check_shows_html_where_there_is_a_kernel(monkeypatch):
    """A notebook gets the message with tables, and its plain text as well."""
    import IPython

    displayed_data = []
    shell = type("Shell", (), {"kernel": object()})()
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    monkeypatch.setattr("IPython.display.display", lambda data, raw: displayed_data.append(data))
    with pytest.raises(CheckFailed):
        check(rename_function(lambda x, axis=0: np.exp(x) / np.exp(x).sum()))
    assert "<caption" in displayed_data[0]["text/html"]
    assert "img" not in displayed_data[0]["text/html"]
    assert "What it means:" in displayed_data[0]["text/plain"]


def test_an_answer_is_known_by_the_name_that_it_is_bound_to(capsys):
    softmax = lambda x, axis=0: RIGHT(x, axis)  # noqa: E731 - as students write it
    check(softmax)
    softmax = partial(RIGHT)
    check(softmax)

    class Softmax:
        def __call__(self, x, axis=0):
            return RIGHT(x, axis)

    softmax = Softmax()
    check(softmax)
    assert ready(softmax)
    assert capsys.readouterr().out.count("softmax: correct in all") == 3


def test_a_stub_that_is_called_is_named_as_the_cause():
    def softmax(x, axis=0):
        raise NotImplementedError

    def stable_softmax(x, axis=0):
        return softmax(x - x.max(axis=axis, keepdims=True), axis)

    with pytest.raises(CheckFailed, match=describe_broken_dependency("softmax", is_written=False)):
        check(stable_softmax)


def test_a_wrong_answer_that_is_called_is_named_as_the_cause():
    def softmax(x, axis=0):
        return np.exp(x) / np.exp(x).sum()

    def stable_softmax(x, axis=0):
        return softmax(x - x.max(axis=axis, keepdims=True), axis)

    with pytest.raises(CheckFailed, match=describe_broken_dependency("softmax")):
        check(stable_softmax)


def test_the_output_of_an_answer_is_shown_once(capsys):
    def softmax(x, axis=0):
        print("SHAPE", x.shape)
        return x

    with pytest.raises(CheckFailed):
        check(softmax)
    output = capsys.readouterr().out
    assert output.count("SHAPE") == 1
    assert "It printed:\nSHAPE (3,)" in output


@pytest.fixture(params=["by signal", "without signals"])
def short_time_limit(request, monkeypatch):
    """Set a limit of 0.3 CPU seconds, on a system with signals and on one without."""
    if request.param == "without signals":
        monkeypatch.delattr(signal, "pthread_kill", raising=False)
    elif not hasattr(signal, "pthread_kill"):
        pytest.skip("this system has none")
    lab_of = answer_key.find_lab
    monkeypatch.setattr(
        answer_key,
        "find_lab",
        lambda name: replace(lab_of(name), call_seconds=0.3),
    )
    yield request.param
    time.sleep(0.1)  # nothing is raised late


# How a call is stopped is the same in these tests; one way is enough for `make test`.
BY_SIGNAL = pytest.mark.parametrize(
    "short_time_limit",
    ["by signal", pytest.param("without signals", marks=pytest.mark.long)],
    indirect=True,
)
WITHOUT_SIGNALS = pytest.mark.parametrize(
    "short_time_limit",
    [pytest.param("by signal", marks=pytest.mark.long), "without signals"],
    indirect=True,
)


def use_cpu(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_an_endless_loop_is_stopped_with_a_sentence(short_time_limit):
    def softmax(x, axis=0):
        while True:
            try:  # noqa: SIM105
                x = x + 0
            except Exception:  # noqa: BLE001 - the deadline gets through all the same
                pass

    sentence = r"softmax: It did not end; 0.3 s are allowed\. It was busy with the case “.+”\."
    with pytest.raises(CheckFailed, match=sentence):
        check(softmax)
    assert not ready(softmax)


def test_a_bare_except_does_not_help(short_time_limit):
    def softmax(x, axis=0):
        try:
            while True:
                x = x + 0
        except BaseException:  # noqa: BLE001
            return RIGHT(x, axis)

    with pytest.raises(CheckFailed, match="It did not end"):
        check(softmax)


@BY_SIGNAL
def test_a_slow_answer_is_told_what_it_needs_and_where(short_time_limit):
    calls = []

    def softmax(x, axis=0):
        if not calls:
            end = time.process_time() + 0.36
            while time.process_time() < end:
                pass
        calls.append(x)
        return RIGHT(x, axis)

    sentence = r"It needs 1 s of the 0.3 allowed\. Most of the time went into line \d+: `while time.process_time"
    with pytest.raises(CheckFailed, match=sentence):
        check(softmax)
    assert len(calls) > 1, "it was not stopped"


@BY_SIGNAL
def test_an_answer_that_makes_progress_is_slow_and_not_endless(short_time_limit):
    def softmax(x, axis=0):
        use_cpu(0.05)
        return RIGHT(x, axis)

    with pytest.raises(CheckFailed, match=r"It needs more than 0.45 s of the 0.3 allowed\."):
        check(softmax)


@BY_SIGNAL
def test_a_slow_answer_is_not_endless_where_one_case_is_much_larger_than_the_others(
    short_time_limit,
):
    calls = []

    def softmax(x, axis=0):
        calls.append(x)
        use_cpu(0.05 if len(calls) == 1 else 5)
        return RIGHT(x, axis)

    with pytest.raises(CheckFailed, match=r"It needs more than 0.45 s of the 0.3 allowed\."):
        check(softmax)


def test_waiting_is_ended_by_the_clock(short_time_limit):
    if short_time_limit == "without signals":
        pytest.skip("what sleeps there is not woken")

    def softmax(x, axis=0):
        time.sleep(60)

    start = time.monotonic()
    with pytest.raises(CheckFailed, match=r"It did not end; 0.3 s are allowed\."):
        check(softmax)
    assert 1.8 < time.monotonic() - start < 30


def test_waiting_for_a_busy_machine_is_no_mistake(short_time_limit):
    """The wall-clock time is twice the limit; only CPU time counts."""
    calls = []

    def softmax(x, axis=0):
        if not calls:
            time.sleep(0.6)
        calls.append(x)
        return RIGHT(x, axis)

    check(softmax)


@WITHOUT_SIGNALS
def test_where_there_are_neither_threads_nor_signals_answers_are_judged_all_the_same(
    short_time_limit, monkeypatch
):
    """Python in a browser or a sandbox has neither, nor `ctypes.pythonapi`."""

    def start(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.delattr(signal, "pthread_kill", raising=False)
    monkeypatch.delattr(ctypes, "pythonapi")
    monkeypatch.setattr(threading.Thread, "start", start)
    monkeypatch.setattr(time_limit, "_watcher", time_limit._Watcher())

    def softmax(x, axis=0):
        return RIGHT(x, axis)

    check(softmax)

    def softmax(x, axis=0):
        use_cpu(0.02)
        return RIGHT(x, axis)

    with pytest.raises(CheckFailed, match=r"It needs \d+ s of the 0.3 allowed\."):
        check(softmax)


def test_a_lab_says_how_long_its_answers_may_take():
    assert answer_key.find_lab("blockwise_attention").call_seconds == 60
    assert answer_key.find_lab("softmax").call_seconds == 10


def test_a_name_that_an_exercise_of_another_lab_has_is_said_to_be_one(capsys):
    def softmax(x, axis=0):
        return causal_mask(x)  # noqa: F821

    with pytest.raises(CheckFailed):
        check(softmax)
    assert "`causal_mask` is an exercise of the lab attention-masks" in capsys.readouterr().out

    def softmax(x, axis=0):
        return stable_softmax(x)  # noqa: F821

    with pytest.raises(CheckFailed):
        check(softmax)
    assert "`stable_softmax` is another exercise of this lab" in capsys.readouterr().out


# Marking schemes of questions in words

QUESTION = "explain-flat"


@pytest.fixture
def save_answer(tmp_path, monkeypatch):
    """Return a function that saves a notebook with an answer cell, and goes to its folder."""

    def write(source):
        folder = tmp_path / "qkv-attention"
        shutil.copytree(
            COURSE.answer_key_folder("qkv-attention"),
            folder / "answers",
            dirs_exist_ok=True,
        )
        (folder / "answers" / answer_key.CRITERIA_FILE).write_bytes(
            answer_key.encode_criteria({QUESTION: "**1 point** for all."}),
        )
        cell = {
            "cell_type": "markdown",
            "metadata": {"nbgrader": {"grade_id": QUESTION}},
            "source": source,
        }
        (folder / "qkv-attention.ipynb").write_text(json.dumps({"cells": [cell]}))
        monkeypatch.chdir(folder)
        monkeypatch.delenv("AUTOGRADER_COURSE", raising=False)
        return folder

    yield write
    answer_key.clear_cache()


def test_criteria_are_shown_once_an_answer_is_written(save_answer, capsys):
    save_answer("The weights are nearly uniform.")
    criteria()
    assert "**1 point** for all." in capsys.readouterr().out


@pytest.mark.parametrize("source", ["YOUR ANSWER HERE", "", "  \n"])
def test_criteria_are_not_shown_before(save_answer, capsys, source):
    save_answer(source)
    with pytest.raises(CheckFailed, match="write an answer of your own first and save"):
        criteria(QUESTION)
    assert "1 point" not in capsys.readouterr().out


def test_hidden_criteria_and_unknown_questions_are_refused(save_answer):
    folder = save_answer("Something.")
    with pytest.raises(CheckFailed, match="There is no question 'explain'"):
        criteria("explain")
    (folder / "answers" / answer_key.CRITERIA_FILE).unlink()
    with pytest.raises(CheckFailed, match="its marking scheme is not shown in this course"):
        criteria(QUESTION)


def test_the_schemes_of_a_lab_belong_to_its_questions_and_stay_out_of_the_notebook():
    lab = read_lab(COURSE, "qkv-attention")
    schemes = lab.mark_schemes()
    assert set(schemes) == set(lab.manual_questions) == {QUESTION}
    assert "1 point" in schemes[QUESTION]
    assert "BEGIN" not in schemes[QUESTION]
    assert "1 point" not in COURSE.released_notebook_path(lab.name).read_text("utf-8")
    assert answer_key.read_criteria(answer_key.load_lab_descriptions()[lab.name]) == schemes


@pytest.mark.parametrize(
    "malformed",
    [{"metadata": None}, {"metadata": {"nbgrader": []}}, {"metadata": "text"}, {}, None, 3],
)
def test_a_reset_in_a_notebook_with_a_cell_that_is_none(malformed, tmp_path):
    path = tmp_path / "qkv-attention.ipynb"
    notebook = json.loads(COURSE.released_notebook_path("qkv-attention").read_text("utf-8"))
    stub = next(c for c in notebook["cells"] if get_grade_id(c) == "softmax")
    original_source, stub["source"] = stub["source"], "def softmax(x, axis=0): ..."
    if isinstance(malformed, dict):
        malformed = {"cell_type": "markdown", "source": "", **malformed}
    notebook["cells"].insert(
        0,
        malformed,
    )
    path.write_text(json.dumps(notebook))
    reset_copy(path, "softmax", COURSE)
    cells = json.loads(path.read_text("utf-8"))["cells"]
    assert (
        next(c for c in cells if isinstance(c, dict) and get_grade_id(c) == "softmax")["source"]
        == original_source
    )


@pytest.mark.long
def test_a_cell_that_never_ends_is_ended_by_its_cpu_time(tmp_path, monkeypatch):
    """`autograder check` runs the whole notebook; the wall-clock limit would be an hour."""
    monkeypatch.setattr(notebook_module, "MAX_CELL_CPU_SECONDS", 0.5)
    monkeypatch.setattr(notebook_module, "POLL_SECONDS", 0.1)
    monkeypatch.setattr(notebook_module, "WALL_SECONDS_PER_CPU_SECOND", 3600)
    cells = [new_code_cell("import time; time.sleep(1)"), new_code_cell("while True: pass")]
    (tmp_path / "softmax.ipynb").write_text(
        nbformat.writes(
            new_notebook(
                cells=[
                    *cells,
                    new_code_cell("", metadata={"nbgrader": {"grade_id": "test-softmax"}}),
                ],
            ),
        ),
    )
    with pytest.raises(
        NotebookError,
        match=r"A cell needed more than 0\.5 s; look for an endless loop",
    ):
        check_notebook(tmp_path / "softmax.ipynb")


@pytest.mark.long
def test_the_log_of_a_process_that_dies_is_shown(tmp_path):
    dies = new_code_cell("import os\nos.write(2, b'the pipes are frozen')\nos._exit(1)")
    test = new_code_cell("", metadata={"nbgrader": {"grade_id": "test-softmax"}})
    nbformat.write(new_notebook(cells=[dies, test]), tmp_path / "softmax.ipynb")
    with pytest.raises(NotebookError, match=r"died while it ran\. It logged: .*frozen"):
        check_notebook(tmp_path / "softmax.ipynb")


@pytest.mark.long
def test_each_cell_has_the_whole_cpu_time(tmp_path, monkeypatch):
    monkeypatch.setattr(notebook_module, "MAX_CELL_CPU_SECONDS", 2)
    monkeypatch.setattr(notebook_module, "POLL_SECONDS", 0.1)
    busy = "import time\nend = time.process_time() + 1.3\nwhile time.process_time() < end: pass"
    test = new_code_cell("", metadata={"nbgrader": {"grade_id": "test-softmax"}})
    cells = [*(new_code_cell(busy) for _ in range(3)), test]
    (tmp_path / "softmax.ipynb").write_text(nbformat.writes(new_notebook(cells=cells)))
    assert check_notebook(tmp_path / "softmax.ipynb")


# Before and around a check


def test_a_function_of_another_name_is_told_the_names_of_this_lab_only(tmp_path, monkeypatch):
    (tmp_path / "qkv-attention.ipynb").write_text("{}")
    monkeypatch.setenv("AUTOGRADER_COURSE", str(ROOT))
    monkeypatch.chdir(tmp_path)

    def my_softmax(x, axis=0):
        return x

    with pytest.raises(CheckFailed, match="No exercise is called 'my_softmax'") as caught:
        exec(
            "check(answer)",
            {"check": check, "answer": my_softmax},
        )  # nothing else is defined there
    assert "stable_softmax" in str(caught.value) and "causal_mask" not in str(caught.value)


def test_defaults_that_are_arrays_do_not_fill_the_message():
    layer = np.ones((32, 10))

    def attention(encoder_states, decoder_state, l1=layer, layer_2=None):
        return encoder_states

    with pytest.raises(CheckFailed, match="unexpected keyword argument 'layer_1'") as caught:
        check(attention)
    assert "l1=…, layer_2=None) cannot be called" in str(caught.value)
    assert len(str(caught.value)) < 300


def test_a_default_of_some_length_is_written_in_full():
    def answer(short="a" * 32, long="a" * 34):
        return short + long

    short, long = inspect.signature(answer).parameters.values()
    assert check_module._format_parameter(short) == f"short='{'a' * 32}'"
    assert check_module._format_parameter(long) == "long=…"


def test_an_exercise_that_is_not_defined_yet_is_told_by_its_cell(capsys):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.set_custom_exc((NameError,), check_module._show_name_error)
    shell.run_cell("check(softmax)\n", store_history=False)
    assert "name 'check' is not defined" in capsys.readouterr().out
    result = shell.run_cell("softmax\n", store_history=False)
    output = capsys.readouterr().out
    assert "softmax is not defined yet. Run the cell in which you write it" in output
    assert "Traceback" not in output and isinstance(result.error_in_exec, NameError)
    InteractiveShell.clear_instance()


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (
            None,
            "softmax: its cell is missing; `autograder reset qkv-attention.ipynb softmax` puts it back.",
        ),
        (
            "def my_softmax(x):\n    pass",
            "softmax is not defined: its cell defines my_softmax. Give the function the name",
        ),
        (
            "def softmax(x):\n    pass",
            "softmax is not defined yet. The cell that defines it begins with `def softmax(x):`, in the section",
        ),
        ("x = 3", "softmax is not defined yet. Run the cell in which you write it"),
    ],
)
def test_a_function_that_is_not_there_is_looked_for_in_the_saved_notebook(
    source, sentence, tmp_path, monkeypatch
):
    notebook = nbformat.read(COURSE.released_notebook_path("qkv-attention"), as_version=4)
    index = next(i for i, cell in enumerate(notebook.cells) if get_grade_id(cell) == "softmax")
    if source is None:
        del notebook.cells[index]
    else:
        notebook.cells[index].source = source
    path = tmp_path / "qkv-attention.ipynb"
    nbformat.write(notebook, path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUTOGRADER_COURSE", str(ROOT))
    assert check_module._explain_missing_function("softmax").startswith(sentence)
    if source is None:
        reset_copy(path, "softmax", COURSE)
        restored = nbformat.read(path, as_version=4)
        assert [c.id for c in restored.cells] == [
            c.id for c in nbformat.read(COURSE.released_notebook_path(path.stem), 4).cells
        ]


def test_nobody_types_and_nothing_calls_itself_for_ever():
    def softmax(x, axis=0):
        return float(input("axis? "))

    with pytest.raises(CheckFailed, match=r"nobody is there when a function is checked"):
        check(softmax)

    def softmax(x, axis=0):
        return softmax(x - 1, axis)

    with pytest.raises(CheckFailed, match=r"calls itself again and again") as caught:
        check(softmax)
    assert "RecursionError" in str(caught.value)


def test_a_deleted_cell_is_said_to_be_missing():
    output = nbformat.v4.new_output(
        "error",
        ename="NameError",
        evalue="name 'softmax' is not defined",
    )
    cell = nbformat.v4.new_code_cell(outputs=[output])
    status = notebook_module._read_exercise_status("softmax", cell, "", has_answer_cell=False)
    assert "its cell is missing" in status.message
    status = notebook_module._read_exercise_status("softmax", cell, "X", has_answer_cell=True)
    assert "an earlier cell failed: X" in status.message


# Explanations from an argument probe


def distinctive_result(weights, values):
    return np.tanh(weights @ values) + 0.3


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (lambda q, k, v: distinctive_result(q @ q.T, v), "does not depend on `k`"),
        (
            lambda q, k, v: distinctive_result(k @ q.T, v) - 0.3,
            "With `q` and `k` exchanged, your function gives the expected",
        ),
        (
            lambda q, k, v: distinctive_result(q @ k.T, v) + np.random.normal(),
            "Called twice with the same arguments",
        ),
        (
            lambda q, k, v: distinctive_result(q @ k.T, v.T) - 0.3,
            "With `v` transposed",
        ),
        (lambda q, k, v: distinctive_result(q @ -k.T, v) - 0.3, "With the opposite sign of `q`"),
        (
            lambda q, k, v: distinctive_result(q @ k.T / 2, v) - 0.3,
            "With `q` multiplied by 2, your function gives the expected",
        ),
        (
            lambda q, k, v: distinctive_result(q @ k.T * len(q) ** 0.5, v) - 0.3,
            "With `q` multiplied by 1/√n",
        ),
        (lambda q, k, v: distinctive_result(q @ k.T, 1 / v) - 0.3, "With `1 / v` in place of `v`"),
        (
            lambda q, k, v: distinctive_result(q @ k.T, v) - 0.3 + v,
            "The value that you return is the expected result plus `v`",
        ),
        (lambda q, k, v: distinctive_result(q @ k.T, v) * v.mean(), ""),
        (lambda q, k, v: int(np.argmax(q)), ""),  # a place is often the same for other numbers
        (lambda q, k, v: 1 / 0, ""),
    ],
)
def test_the_argument_probe_explains_a_wrong_result(answer, sentence):
    rng = np.random.default_rng(3)
    questions = []
    for n in (2, 4):
        inputs = Inputs(tuple(rng.normal(size=(n, n)) for _ in range(3)))
        questions.append(
            TestCase(
                "",
                inputs,
                distinctive_result(inputs.args[0] @ inputs.args[1].T, inputs.args[2]) - 0.3,
                {},
            ),
        )
    text = explain_by_arguments(answer, questions, ComparisonRules())
    assert sentence in text and bool(text) == bool(sentence)


def make_test_cases(reference, *calls):
    return [TestCase("", Inputs(args), reference(*args), {}) for args in calls]


def test_the_probe_also_tries_row_vectors_and_integers():
    questions = make_test_cases(
        lambda x, row: 3 * x,
        *[(np.arange(float(n)), np.ones((1, n)) * n) for n in (8, 9)],
    )
    assert "the expected result minus `row`" in explain_by_arguments(
        lambda x, row: 3 * x - row[0],
        questions,
        ComparisonRules(),
    )
    questions = make_test_cases(np.cos, (np.arange(5),), (np.arange(3, 9),))
    assert "With `x` multiplied by ½" in explain_by_arguments(
        lambda x: np.cos(2 * x),
        questions,
        ComparisonRules(),
    )


def test_a_wrong_default_is_named():
    def right(x, axis=0):
        return x / x.sum(axis=axis, keepdims=True)

    def wrong_default(x, axis=-1):
        return right(x, axis)

    table = np.arange(1.0, 7).reshape(2, 3)
    text = explain_by_arguments(wrong_default, make_test_cases(right, (table,)), ComparisonRules())
    assert text.startswith(
        "The call leaves `axis` out, so your function uses -1. With `axis=0` your function gives",
    )
    other_text = explain_by_arguments(
        lambda x, axis: right(x, axis - 1),
        make_test_cases(right, (table, 1)),
        ComparisonRules(),
    )
    assert "The call leaves" not in other_text and "increased by 1" in other_text


def test_a_passing_case_rules_out_an_explanation():
    def zero_if_negative(x):
        return np.zeros_like(x) if (x < 0).any() else 2 * x

    failing = make_test_cases(
        lambda x: 2 * x,
        (np.array([-1.0, 2.0, 3.0]),),
        (np.array([1.0, -2.0, 3.0, 4.0]),),
    )
    passing = make_test_cases(lambda x: 2 * x, (np.array([1.0, 2.0, 3.0]),))
    assert "does not depend on `x`" in explain_by_arguments(
        zero_if_negative,
        failing,
        ComparisonRules(),
    )
    assert "does not depend" not in explain_by_arguments(
        zero_if_negative,
        failing,
        ComparisonRules(),
        passing=passing,
    )


def test_the_probe_swaps_and_shifts_settings():
    def reference(x, rate=0.5, step=1, decay=0.25):
        return x * rate**step + decay

    def swapped_rates(x, rate=0.5, step=1, decay=0.25):
        return x * decay**step + rate

    def one_less(x, rate=0.5, step=1, decay=0.25):
        return reference(x, rate, step - 1, decay)

    questions = make_test_cases(reference, (np.arange(3.0),), (np.arange(4.0), 0.3, 2, 0.7))
    assert "`rate` and `decay` exchanged" in explain_by_arguments(
        swapped_rates,
        questions,
        ComparisonRules(),
    )
    assert "With `step` increased by 1" in explain_by_arguments(
        one_less, questions, ComparisonRules()
    )


def test_an_inverted_mask_is_named():
    mask = np.array([[True, False], [True, True]])
    questions = make_test_cases(lambda x, m: np.where(m, x, 0.0), (np.ones((2, 2)), mask))
    assert "True and False exchanged in `m`" in explain_by_arguments(
        lambda x, m: np.where(m, 0.0, x),
        questions,
        ComparisonRules(),
    )


def test_a_wrong_count_names_the_missing_or_extra_term():
    questions = make_test_cases(
        lambda d, layers: 4 * d * d * layers,
        (8, 2),
        (16, 3),
        (4, 0),
        (6, 1),
    )
    questions = [q for q in questions if q.expected]
    missing = explain_by_arguments(
        lambda d, layers: 3 * d * d * layers,
        questions,
        ComparisonRules(),
    )
    assert "your number is too small by `d`² · `layers`" in missing
    assert "your number is too large by 2 · `d`" in explain_by_arguments(
        lambda d, layers: 4 * d * d * layers + 2 * d,
        questions,
        ComparisonRules(),
    )
    assert (
        explain_by_arguments(
            lambda d, layers: 4 * d * d * layers + d % 5,
            questions,
            ComparisonRules(),
        )
        == ""
    )


def test_an_argument_may_be_a_type():
    inputs = Inputs((np.arange(4.0), np.float32))
    assert (
        explain_by_arguments(
            lambda x, dtype: x * x,
            [TestCase("", inputs, inputs.args[0] * 3, {})],
            ComparisonRules(),
        )
        == ""
    )


def test_a_default_without_a_value_type_does_not_stop_the_probe():
    questions = make_test_cases(lambda x: x * 3, (np.arange(4.0),))
    text = explain_by_arguments(lambda x, library=np: library.abs(x), questions, ComparisonRules())
    assert text == ""


def test_entries_of_a_mapping_are_arguments_too():
    inputs = Inputs(({"gain": np.arange(3.0), "bias": np.arange(3.0) ** 2, "heads": 2}, np.ones(3)))
    questions = [
        TestCase("", inputs, inputs.args[1] * inputs.args[0]["gain"] + inputs.args[0]["bias"], {}),
    ]
    assert "`bias`" in explain_by_arguments(
        lambda p, x: x * p["gain"] + p["gain"],
        questions,
        ComparisonRules(),
    )
    text = explain_by_arguments(
        lambda p, x: x * p["bias"] + p["gain"],
        questions,
        ComparisonRules(),
    )
    assert "`gain` and `bias` exchanged" in text


def test_an_array_unused_by_the_reference_is_not_blamed():
    rng = np.random.default_rng(4)
    inputs = Inputs(tuple(rng.normal(size=(3, 3)) for _ in range(3)))
    questions = [TestCase("", inputs, inputs.args[0] @ inputs.args[1], {})]

    def reference(a, b, bias):
        return a @ b

    def wrong(a, b, bias):
        return np.tanh(a @ b)

    assert find_unused_arrays(reference, questions, ComparisonRules()) == ("bias",)
    assert "does not depend on `bias`" in explain_by_arguments(wrong, questions, ComparisonRules())
    assert (
        explain_by_arguments(
            wrong,
            questions,
            ComparisonRules(),
            find_unused_arrays(reference, questions, ComparisonRules()),
        )
        == ""
    )


def test_a_check_names_an_unused_argument():
    def attention_qkv(queries, keys, values):
        return queries[:, :1] * 0.37 + values.sum(axis=0) ** 2

    with pytest.raises(CheckFailed, match="does not depend on `keys`"):
        check(attention_qkv)


def test_an_interrupt_is_one_sentence():
    def softmax(x, axis=0):
        raise KeyboardInterrupt

    with pytest.raises(CheckFailed) as caught:
        check(softmax)
    assert str(caught.value) == "softmax: you interrupted the check, so there is no result."
    assert caught.value._render_traceback_() == [str(caught.value)]


def test_ipython_s_exit_does_not_end_the_kernel():
    """IPython's `exit` asks the kernel to end, and raises nothing; `sys.exit` raises SystemExit."""
    ended = []

    class FromIPython:
        __module__ = "IPython.core.autocall"

        def __call__(self):
            ended.append(True)

    names = {"exit": FromIPython(), "check": check, "__name__": "__main__"}
    original = names["exit"]
    with pytest.raises(
        CheckFailed, match=r"`exit\(\)`, `quit\(\)` and `sys.exit\(\)` end the whole program"
    ):
        exec("def softmax(x, axis=0):\n    exit()\ncheck(softmax)", names)
    assert not ended and names["exit"] is original


def test_a_result_that_overflows_gets_no_factor():
    """Smaller numbers never overflow, so a factor would seem to mend every overflow."""

    def reference(x):
        return np.exp(x - x.max()) / np.exp(x - x.max()).sum()

    def without_maximum(x):
        return np.exp(2 * x) / np.exp(2 * x).sum()

    small = make_test_cases(reference, (np.linspace(0, 3, 9),), (np.linspace(-1, 3, 8),))
    text = explain_by_arguments(without_maximum, small, ComparisonRules())
    assert "With `x` multiplied by ½" in text
    large = make_test_cases(reference, (np.linspace(0, 500, 9),), (np.linspace(-1, 600, 8),))
    assert "multiplied" not in explain_by_arguments(without_maximum, large, ComparisonRules())


def test_a_source_that_python_s_parser_gives_up_ends_in_a_message(capsys):
    terms = " + ".join(["q"] * 900)
    source = (
        "def dot_product_self_attention(q, k, v, scale=True):\n"
        "    parts = []\n"
        "    for t in range(q.shape[1]):\n"
        "        row = q[:, t : t + 1], k[:, : t + 2], v[:, : t + 2]\n"
        "        parts.append(dot_product_attention(*row, scale=scale))\n"
        "    return np.concatenate(parts, axis=1)\n"
        f"    return {terms}\n"
    )
    functions = vars(read_lab(COURSE, "attention-masks").reference)
    with pytest.raises(CheckFailed):
        check(define_in_cell(source, **functions))
    output = capsys.readouterr().out
    assert "Each position also sees the one that comes right after it." in output
    assert "Print the mask" in output
    source = f"def softmax(x, axis=0):\n    print({terms})\n    return x\n".replace("q", "x")
    with pytest.raises(CheckFailed, match="softmax: "):
        check(define_in_cell(source))


def test_a_function_that_is_said_to_wrap_itself_ends_in_a_message():
    function = define_in_cell("def softmax(x, axis=0):\n    return x\n")
    function.__wrapped__ = function
    with pytest.raises(CheckFailed, match="softmax: "):
        check(function)


# The second case of a rule, and what a later call remembers of an earlier one


def test_a_stub_with_some_code_before_its_error_is_not_blamed_on_another_exercise():
    def softmax(x, axis=0):
        return x

    def stable_softmax(x, axis=0):
        softmax(x, axis)
        raise NotImplementedError

    with pytest.raises(
        check_module.NotWrittenYet, match=f"^stable_softmax: {NOT_WRITTEN_MESSAGE[:20]}"
    ):
        check(stable_softmax)


@pytest.fixture
def no_earlier_checks(monkeypatch):
    passed_checks = {}
    monkeypatch.setattr(check_module, "_passed_checks", passed_checks)
    return passed_checks


def identity(x, axis=0):
    return x


def test_a_check_begins_with_the_note_on_a_renamed_function(monkeypatch, capsys):
    monkeypatch.setattr(check_module, "describe_stale_definition", lambda name: f"Note: {name}!")
    check(RIGHT)
    assert capsys.readouterr().out.startswith("Note: softmax!\n✓ ")


@pytest.mark.parametrize("ending", ["interrupt", "import", "time"])
def test_a_check_without_a_result_takes_an_earlier_pass_back(
    no_earlier_checks, monkeypatch, ending
):
    check(RIGHT)
    assert no_earlier_checks == {"softmax": True}

    def interrupt(*_):
        raise KeyboardInterrupt if ending == "interrupt" else check_module.TimeLimitExceeded("5 s")

    if ending == "import":
        monkeypatch.setattr(check_module.import_guard, "find_forbidden_package", lambda *_: "scipy")
    else:
        monkeypatch.setattr(check_module, "_judge_answer", interrupt)
    with pytest.raises(
        CheckFailed, match=r"interrupted the check|`scipy` may not be imported|^softmax: 5 s$"
    ):
        check(RIGHT)
    assert no_earlier_checks == {"softmax": False}


def test_a_changed_first_line_takes_an_earlier_pass_back(no_earlier_checks):
    check(RIGHT)
    with pytest.raises(CheckFailed, match="cannot be called as"):
        check(rename_function(lambda x: x))
    assert no_earlier_checks == {"softmax": False}


def test_the_last_check_is_the_last_also_if_it_is_not_the_first_of_its_exercise(no_earlier_checks):
    no_earlier_checks |= {"softmax": True, "causal_mask": True}
    check(RIGHT)
    assert list(no_earlier_checks) == ["causal_mask", "softmax"]


def test_exit_and_quit_raise_in_a_check_and_are_put_back():
    class IPythonExit:
        """Stand in for IPython's `exit`, which ends the kernel when it is called."""

        def __call__(self):
            raise AssertionError("the kernel would end")

    IPythonExit.__module__ = "IPython.core.autocall"
    for name in ("exit", "quit"):
        own_exit = IPythonExit()
        space = {"check": check, name: own_exit, "__name__": "__main__"}
        with pytest.raises(CheckFailed, match="SystemExit"):
            exec(f"def softmax(x, axis=0):\n    {name}()\ncheck(softmax)", space)
        assert space[name] is own_exit


def test_a_variable_of_the_student_that_is_called_exit_is_left_alone(capsys):
    space = {"check": check, "exit": 3, "quit": "q", "__name__": "__main__"}
    with pytest.raises(CheckFailed):
        exec("def softmax(x, axis=0):\n    print(exit, quit)\n    return x\ncheck(softmax)", space)
    assert "3 q" in capsys.readouterr().out


def test_a_cell_that_waits_for_several_functions_names_them_in_its_order(capsys):
    wrong_functions = [
        rename_function(lambda x, axis=0: x, name) for name in ("stable_softmax", "softmax")
    ]
    assert not ready(wrong_functions[0], RIGHT, wrong_functions[1])
    assert capsys.readouterr().out == (
        "This cell runs once stable_softmax and softmax are right.\n"
    )


def test_a_function_that_takes_too_long_is_not_ready(monkeypatch, capsys):
    def exceed(*_):
        raise check_module.TimeLimitExceeded

    monkeypatch.setattr(check_module, "_judge_answer", exceed)
    assert not ready(RIGHT)
    assert capsys.readouterr().out == "This cell runs once softmax is right.\n"


def test_progress_shows_the_lab_of_the_last_check_and_its_points(no_earlier_checks, capsys):
    with pytest.raises(CheckFailed, match=r"progress\(\) needs the name of a lab, one of "):
        progress()
    no_earlier_checks |= {"softmax": True, "causal_mask": True, "alignment": False}
    progress()
    assert "\nadditive-attention: 0 of " in capsys.readouterr().out
    progress("qkv-attention")
    output = capsys.readouterr().out
    key = answer_key.load_lab_descriptions()["qkv-attention"]
    total = sum(key.points.values())
    assert f"qkv-attention: {key.points['softmax']:g} of {total:g} points so far; " in output
    (by_hand,) = key.by_hand.items()
    assert f"✎ {by_hand[0]:<28} {by_hand[1]:g} point" in output and "graded manually" in output


def test_after_the_last_exercise_the_first_that_is_left_comes_next(no_earlier_checks):
    names = list(answer_key.load_lab_descriptions()["qkv-attention"].points)
    suggest = check_module._suggest_next_exercise
    assert suggest(names[0]) == f"Next: {names[1]}."
    assert suggest(names[-1]) == f"Next: {names[0]}."
    no_earlier_checks |= dict.fromkeys(names, True)
    no_earlier_checks[names[2]] = False
    assert suggest(names[-1]) == f"Next: {names[2]}."
    no_earlier_checks[names[2]] = True
    assert suggest(names[0]) == (
        "All code of this lab is right. The questions to answer in words are left."
    )
    for lab in answer_key.load_lab_descriptions().values():
        if not lab.by_hand:
            no_earlier_checks |= dict.fromkeys(lab.points, True)
            assert suggest(next(iter(lab.points))) == "All exercises of this lab are right."


def test_variables_are_judged_as_they_were_when_they_were_named():
    numbers, height = [1, 2], 3
    space = {"answers": check_module.answers, "numbers": numbers, "height": height}
    exec('answer = answers("numbers", "height", "width")', space)
    numbers.append(9)
    space["height"] = 7
    answer = space["answer"]
    assert answer.select(["numbers", "height"]) == {"numbers": [1, 2], "height": 3}
    with pytest.raises(NameError, match="name 'width' is not defined"):
        answer()
    assert answer.__globals__ is space


def test_a_variable_that_cannot_be_copied_is_taken_itself():
    lock = threading.Lock()
    space = {"answers": check_module.answers, "lock": lock}
    exec('answer = answers("lock")', space)
    assert space["answer"]()["lock"] is lock


@pytest.mark.parametrize(
    ("correct", "lines", "summary"),
    [
        ([True, False, True, False], ["✓ a", "✗ b"], "f: 1 of 2 cases are right."),
        (
            [True, True, True, False],
            ["✓ a", "✓ b", "✗ empty"],
            "f: correct in all 2 cases, wrong in 1 of 2 edge cases.",
        ),
    ],
)
def test_edge_cases_are_shown_once_the_ordinary_ones_are_right(capsys, correct, lines, summary):
    cases = [TestCase(label, Inputs(), 1.0, {}) for label in ("a", "b")]
    cases += [TestCase(label, Inputs(), 1.0, {}, edge=("x", 0)) for label in ("one", "empty")]
    key = SimpleNamespace(name="f", test_cases=cases)
    finding = SimpleNamespace(cases_correct=tuple(correct))
    assert check_module._print_cases_and_summarise(key, finding) == summary
    assert capsys.readouterr().out.splitlines() == lines


@pytest.mark.parametrize(
    ("edge_count", "points", "text"),
    [
        (0, 1, "f: correct in all 2 cases. 1 point. Next."),
        (1, 2, "f: correct in all 2 cases and 1 edge case. 2 points. Next."),
        (3, 0.5, "f: correct in all 2 cases and 3 edge cases. 0.5 points. Next."),
    ],
)
def test_a_right_answer_counts_cases_edge_cases_and_points(
    capsys, monkeypatch, edge_count, points, text
):
    monkeypatch.setattr(check_module, "_suggest_next_exercise", lambda name: "Next.")
    cases = [TestCase(label, Inputs(), 1.0, {}) for label in ("a", "b")]
    cases += [TestCase("e", Inputs(), 1.0, {}, edge=("x", 0))] * edge_count
    key = SimpleNamespace(name="f", test_cases=cases, points=points)
    check_module._show_success_and_next_exercise(key)
    assert capsys.readouterr().out.splitlines() == ["✓ a", "✓ b", text]


def test_of_several_names_of_a_function_the_one_after_def_counts():
    def stable_softmax(x, axis=0):
        return x

    guess = check_module._guess_exercise_name
    both = {"softmax": stable_softmax, "stable_softmax": stable_softmax}
    assert guess(stable_softmax, both) == "stable_softmax"
    assert guess(stable_softmax, {"softmax": stable_softmax}) == "softmax"
    assert guess(stable_softmax, {}) == "stable_softmax"
    assert guess(identity, both) == "identity"


def test_a_function_of_another_name_is_told_the_names_of_the_labs_in_the_notebook(
    tmp_path, monkeypatch
):
    """Without a lab's notebook beside it, the functions that are defined tell the lab."""
    monkeypatch.setenv("AUTOGRADER_COURSE", str(ROOT))
    monkeypatch.chdir(tmp_path)
    for names, expected in (({"softmax": 1}, False), ({}, True)):
        with pytest.raises(CheckFailed, match="No exercise is called 'identity'") as caught:
            exec("check(answer)", {"check": check, "answer": identity, **names})
        assert "stable_softmax" in str(caught.value)
        assert ("causal_mask" in str(caught.value)) is expected


def test_a_call_that_does_not_fit_is_written_with_its_keywords():
    def softmax(x):
        return x

    with pytest.raises(CheckFailed) as caught:
        check(softmax)
    assert "Your softmax(x) cannot be called as softmax(…, axis=…): " in str(caught.value)
    assert str(caught.value).endswith("Put the stub's first line back as it was.")


def make_name_error(name):
    outcome = CallOutcome(None, "error", f"NameError: name '{name}' is not defined")
    return SimpleNamespace(shown_case=SimpleNamespace(outcome=outcome))


def test_a_missing_name_of_another_lab_is_told_its_lab(tmp_path, monkeypatch):
    monkeypatch.setenv("AUTOGRADER_COURSE", str(ROOT))
    monkeypatch.chdir(tmp_path)
    key = answer_key.load_exercise_key("softmax")
    explain = check_module._explain_undefined_name
    assert explain(key, make_name_error("stable_softmax")) == (
        "`stable_softmax` is another exercise of this lab. Run its cell first."
    )
    assert explain(key, make_name_error("causal_mask")).startswith(
        "`causal_mask` is an exercise of the lab attention-masks. A notebook knows only"
    )
    assert explain(key, make_name_error("nowhere")) == ""
    assert explain(key, SimpleNamespace(shown_case=None)) == ""


def test_a_called_function_that_takes_too_long_is_passed_over_for_the_next(monkeypatch):
    """The one that takes long may be right; the other is surely wrong."""
    key = SimpleNamespace(builds_on=["slow", "wrong"])

    def judge(key, answer):
        if key == "slow":
            raise check_module.TimeLimitExceeded
        return SimpleNamespace(is_unwritten=False, verdict="wrong")

    monkeypatch.setattr(check_module, "_judge_answer", judge)
    monkeypatch.setattr(check_module.answer_key, "load_exercise_key", lambda name: name)
    space = {"slow": identity, "wrong": identity}
    exec("def answer(x):\n    return slow(wrong(x))", space)
    explanation = check_module._explain_broken_dependency(key, space["answer"], space)
    assert explanation == describe_broken_dependency("wrong", is_written=True)


def test_a_class_in_the_cell_of_an_exercise_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("AUTOGRADER_COURSE", str(ROOT))
    monkeypatch.chdir(tmp_path)
    metadata = {"nbgrader": {"grade_id": "softmax"}}
    cell = {"cell_type": "code", "metadata": metadata, "source": "class Softmax:\n    pass"}
    (tmp_path / "qkv-attention.ipynb").write_text(json.dumps({"cells": [cell]}))
    assert "its cell defines Softmax. Give the function the name softmax again." in (
        check_module._explain_missing_function("softmax")
    )


def test_criteria_say_which_questions_there_are(save_answer, tmp_path, monkeypatch):
    save_answer("Something.")
    with pytest.raises(CheckFailed, match=f"beside this one there are: {QUESTION}\\."):
        criteria("explain")
    (tmp_path / "qkv-attention" / "qkv-attention.ipynb").unlink()
    with pytest.raises(CheckFailed, match=r"^criteria needs the name .* there are: none\."):
        criteria()


# `autograder check`


def read_status(ename=None, evalue="", first_error="", has_answer_cell=True):
    outputs = []
    if ename:
        outputs.append(nbformat.v4.new_output("error", ename=ename, evalue=evalue))
    else:
        outputs = [nbformat.v4.new_output("stream", text=evalue)] if evalue else []
    return notebook_module._read_exercise_status(
        "softmax", new_code_cell(outputs=outputs), first_error, has_answer_cell
    )


@pytest.mark.parametrize(
    ("status", "passed", "message"),
    [
        (read_status(evalue="correct"), True, "right"),
        (read_status(), False, "its check did not run"),
        (read_status("NotWrittenYet", "softmax: x"), False, "not written yet"),
        (read_status("CheckFailed", "softmax: It is wrong."), False, "It is wrong."),
        (read_status("NameError", "x"), False, "there is no function softmax"),
        (
            read_status("NameError", "x", "SyntaxError: invalid"),
            False,
            "there is no function softmax; an earlier cell failed: SyntaxError: invalid",
        ),
    ],
)
def test_the_status_of_an_exercise_is_read_from_its_check(status, passed, message):
    assert (status.exercise, status.passed, status.message) == ("softmax", passed, message)


def test_the_first_error_that_is_no_failed_check_is_quoted_in_one_line():
    def make_error(ename, evalue):
        return new_code_cell(outputs=[nbformat.v4.new_output("error", ename=ename, evalue=evalue)])

    cells = [make_error("CheckFailed", "a"), make_error("NotWrittenYet", "b")]
    assert notebook_module._find_first_error(new_notebook(cells=cells)) == ""
    cells += [make_error("ValueError", "one\ntwo"), make_error("KeyError", "c")]
    assert notebook_module._find_first_error(new_notebook(cells=cells)) == "ValueError: one"
    cells = [make_error("ValueError", "x" * 400)]
    assert len(notebook_module._find_first_error(new_notebook(cells=cells))) == 300


def test_each_exercise_of_a_lab_is_checked_once_even_without_its_test_cell(tmp_path):
    own_test = new_code_cell("assert True  # the student's own")
    own_test.metadata["nbgrader"] = {"grade_id": "test-softmax"}
    notes = nbformat.v4.new_markdown_cell("notes")
    notes.metadata["nbgrader"] = {"grade_id": "test-stable-softmax"}
    notebook = new_notebook(cells=[own_test, notes])
    exercises = notebook_module._list_lab_exercises(notebook, tmp_path / "renamed.ipynb")
    assert exercises == list(answer_key.load_lab_descriptions()["qkv-attention"].points)
    checks = notebook_module._make_test_cells_call_check(notebook, exercises)
    assert list(checks) == exercises
    assert notebook.cells[0].source == "check(softmax)"
    assert notebook.cells[1].source == "notes"
    assert checks["stable_softmax"].source == (
        "from autograder import check\ncheck(stable_softmax)"
    )
    other_test = new_code_cell("pass")
    other_test.metadata["nbgrader"] = {"grade_id": "test-causal-mask"}
    notebook.cells.append(other_test)
    found = notebook_module._list_lab_exercises(notebook, tmp_path / "attention-masks.ipynb")
    assert found == exercises, "the first test cell tells the lab, and the file's name only without"
    with pytest.raises(NotebookError, match="is it one of the lab notebooks"):
        notebook_module._list_lab_exercises(new_notebook(), tmp_path / "renamed.ipynb")


# Sentences that are added to a finding


def test_the_judge_gets_the_names_of_a_function_s_arguments_and_of_its_exercise(monkeypatch):
    calls = []
    monkeypatch.setattr(check_module, "judge", lambda *args, **names: calls.append((args, names)))
    monkeypatch.setattr(check_module, "call_student_function", lambda *args: args[2])
    key = answer_key.load_exercise_key("softmax")
    key = replace(key, test_cases=key.test_cases[:1])
    check_module._judge_answer(key, softmax, ["known"])
    ((arguments, keywords),) = calls
    assert arguments == (key.test_cases, ["function"], key.rules, ["known"], "softmax")
    assert tuple(keywords["argument_names"]) == ("x", "axis")


def test_a_sentence_of_a_student_is_escaped_on_the_page():
    html = check_module._render_paragraph("`x` is <b>.")
    assert "&lt;b&gt;" in html and "<code>x</code>" in html
    assert check_module._render_paragraph("") == ""


def make_shown_case(expected=None, value=None, kind="numbers", **arguments):
    difference = SimpleNamespace(kind=kind, mistake=None, means="")
    return SimpleNamespace(
        expected=expected, value=value, difference=difference, inputs=Inputs((), arguments)
    )


@pytest.mark.parametrize(
    ("expected", "value", "is_shortened"),
    [
        (("alpha", "beta"), ("alp", "beta"), True),
        (["alpha", "beta"], ("al", "be"), True),
        (("alpha", "beta"), ("alpha", "beta"), False),
        (("alpha", "beta"), ("pha", "beta"), False),
        (("alpha", "beta"), ("al", "bx"), False),
        (("alp", "beta"), ("alpha", "beta"), False),
        (("alpha", "beta"), ("alp",), False),
        (("alpha", 2), ("alp", 2), True),
        (("alpha", 2), ("alp", 1), False),
        ("alpha", "alp", False),
        (("alpha",), "a", False),
        ("a", ("",), False),
    ],
)
def test_texts_are_shortened_if_each_that_differs_is_the_beginning(expected, value, is_shortened):
    finding = Finding(Verdict.WRONG, shown_case=make_shown_case(expected, value))
    assert check_module._holds_shortened_text(finding) is is_shortened
    assert not check_module._holds_shortened_text(replace(finding, shown_case=None))


@pytest.mark.parametrize(
    ("kind", "observation", "means", "number"),
    [
        ("not finite", "It is inf there.", "", "inf"),
        ("not finite", "It is -inf there.", "", "-inf"),
        ("not finite", "It is large.", "", ""),
        ("not finite", "It says info.", "", ""),
        ("not finite", "It is inf there.", "Beside it there is nan.", ""),
        ("numbers", "It is inf there.", "", ""),
    ],
)
def test_an_infinite_number_is_read_from_what_is_shown(kind, observation, means, number):
    finding = Finding(
        Verdict.WRONG, observation=observation, means=means, shown_case=make_shown_case(kind=kind)
    )
    assert check_module._find_infinite_number(finding) == number
    assert check_module._find_infinite_number(replace(finding, shown_case=None)) == ""


@pytest.mark.parametrize(
    ("axes", "correct", "fails"),
    [
        ([1, 2], (True, False), True),
        ([1, 2], (False, True), False),
        ([2, 2], (True, False), False),
        ([1, 2, 3], (True, False, False), True),
        ([1, 3, 2], (True, True, False), False),
        ([1, 2], (False, False), False),
        ([1, 2], (True, True), False),
        ([1, None, 2], (True, False, False), True),  # a case without an array tells nothing
    ],
)
def test_a_function_fails_with_more_axes_if_no_right_case_has_as_many(axes, correct, fails):
    cases = []
    for count in axes:
        arguments = () if count is None else (np.zeros((2,) * count), np.zeros(1))
        cases.append(SimpleNamespace(inputs=Inputs(arguments)))
    key = SimpleNamespace(test_cases=cases)
    assert check_module._fails_with_more_axes(key, Finding(Verdict.WRONG, correct)) is fails


UNUSED = SourceSlip(3, "`axis` is never used.", "Where is it?", False, ("axis",))


@pytest.mark.parametrize(
    ("slip", "verdict", "arguments", "is_asked"),
    [
        (UNUSED, Verdict.WRONG, {"x": 1}, True),
        (UNUSED, Verdict.WRONG, {"x": 1, "axis": 0}, False),
        (UNUSED, Verdict.ERROR, {"x": 1}, False),
        (UNUSED, Verdict.WRONG, {"y": 1}, False),
        (replace(UNUSED, unused_names=()), Verdict.WRONG, {"x": 1}, False),
    ],
)
def test_an_unused_argument_that_the_case_does_not_give_explains_nothing(
    slip, verdict, arguments, is_asked
):
    finding = Finding(verdict, shown_case=make_shown_case(**arguments))
    result = check_module._ask_for_another_mistake(slip, softmax, finding)
    if is_asked:
        assert result.nudge.startswith("The case above does not give `axis`. Is something else")
        assert result.means == slip.means
    else:
        assert result == slip
    without_case = replace(finding, shown_case=None)
    assert check_module._ask_for_another_mistake(slip, softmax, without_case) == slip


@pytest.mark.parametrize(
    ("verdict", "misconception", "is_certain", "slip_nudge", "means", "nudge"),
    [
        (Verdict.WRONG, None, True, "slip?", "Slip.", "slip?"),
        (Verdict.WRONG, None, True, "", "Slip.", ""),
        (Verdict.WRONG, None, False, "slip?", "Means. Slip.", "slip?"),
        (Verdict.WRONG, None, False, "", "Means. Slip.", "nudge?"),
        (Verdict.WRONG, "of-the-lab", True, "slip?", "Slip. Means.", "slip?"),
        (Verdict.WRONG, "of-the-lab", True, "", "Slip. Means.", "nudge?"),
        (Verdict.WRONG, "missing-axis", True, "", "Slip. Means.", ""),
        (Verdict.WRONG, "returns-nothing", False, "", "Slip.", ""),
        (Verdict.ERROR, None, True, "", "Means. Slip.", ""),
        (Verdict.ERROR, "missing-axis", True, "slip?", "Means. Slip.", "slip?"),
        (Verdict.ERROR, "of-the-lab", True, "slip?", "Slip. Means.", "slip?"),
        (Verdict.ERROR, "of-the-lab", False, "", "Means. Slip.", "nudge?"),
    ],
)
def test_sentences_of_a_slip_stand_where_they_explain_most(
    verdict, misconception, is_certain, slip_nudge, means, nudge
):
    finding = Finding(verdict, misconception=misconception, means="Means.", nudge="nudge?")
    slip = SourceSlip(1, "Slip.", slip_nudge, is_certain)
    result = check_module._add_slip(finding, slip)
    assert (result.means, result.nudge) == (means, nudge)
    assert (result.verdict, result.misconception) == (verdict, misconception)


def make_finding(verdict, misconception=None, error="", means="", nudge="nudge?", **options):
    case = make_shown_case()
    case.outcome, case.mistake = CallOutcome(error=error, modified=("x",)), None
    return Finding(
        *(verdict, (True, False), misconception),
        **{"means": means, "nudge": nudge, "shown_case": case, **options},
    )


@pytest.mark.parametrize(
    ("verdict", "misconception", "error", "means", "nudge", "searches"),
    [
        (Verdict.WRONG, "of-the-lab", "", "", "nudge?", ["find_source_slip has_misconception"]),
        (Verdict.ERROR, "of-the-lab", "", "", "nudge?",
         ["find_source_slip has_misconception raises_error"]),
        (Verdict.WRONG, None, "", "", "nudge?", ["find_source_slip fails_with_more_axes"]),
        (Verdict.ERROR, None, "", "", "nudge?",
         ["find_source_slip fails_with_more_axes raises_error"]),
        (Verdict.WRONG, "transposed", "", "", "", ["find_source_slip fails_with_more_axes"]),
        (Verdict.WRONG, "missing-axis", "", "", "",
         ["find_squeeze_of_all_axes", "find_source_slip"]),
        (Verdict.WRONG, "returns-nothing", "", "", "", ["explain_missing_result"]),
        (Verdict.ERROR, "works-on-none", "", "", "", ["find_cause_of_none"]),
        (Verdict.ERROR, "works-on-none", "", "A value on this line is None. `f`", "", []),
        (Verdict.ERROR, None, "'tuple' object does not", "", "", ["find_tuple_of_places"]),
        (Verdict.ERROR, None, "cannot cast to tuple", "", "", ["find_tuple_of_places"]),
        (Verdict.ERROR, "product-with-one-number", "", "", "",
         ["find_uncalled_function", "find_in_place_call"]),
        (Verdict.WRONG, "modifies-argument", "", "", "", ["find_change_of_argument"]),
        (Verdict.WRONG, "imprecise", "", "", "", ["find_approximation"]),
        (Verdict.WRONG, "precision-lost-on-the-way", "", "", "", ["find_approximation"]),
        (Verdict.ERROR, "calls-itself", "", "", "nudge?", []),
        (Verdict.ERROR, "axes-that-do-not-match", "", "", "", []),
        (Verdict.ERROR, "axes-that-do-not-match", "", "", "nudge?",
         ["find_source_slip fails_with_more_axes raises_error"]),
    ],
)  # fmt: skip
def test_the_source_is_searched_for_what_may_explain_the_mistake(
    verdict, misconception, error, means, nudge, searches, monkeypatch
):
    found = []

    def record(name):
        def search(answer, *_, **options):
            assert answer is softmax
            found.append(" ".join([name, *(flag for flag in sorted(options) if options[flag])]))

        return search

    for name in (
        *("find_source_slip", "find_squeeze_of_all_axes", "explain_missing_result"),
        *("find_cause_of_none", "find_tuple_of_places", "find_uncalled_function"),
        *("find_in_place_call", "find_change_of_argument", "find_approximation"),
    ):
        monkeypatch.setattr(check_module, name, record(name))
    monkeypatch.setattr(check_module, "_fails_with_more_axes", lambda *_: True)
    key = SimpleNamespace(unused_arrays=())
    finding = make_finding(verdict, misconception, error, means, nudge)
    assert check_module._find_slip(key, softmax, finding) is None
    assert found == searches


CERTAIN = SourceSlip(3, "Slip.", "slip?", True)
REPAIR, REPAIR_ELSEWHERE = "In line 3 of it: `+`.", "In line 2 of it: `+`."


@pytest.mark.parametrize(
    ("finding", "slip", "dependence", "repair", "means", "nudge"),
    [
        ({}, None, "", "", "Means.", "nudge?"),
        ({}, None, "Ignores x.", "", "Means. Ignores x.", "nudge?"),
        ({}, None, "", REPAIR, REPAIR, "nudge?"),
        ({}, None, "Ignores x.", REPAIR, f"Ignores x. {REPAIR}", "nudge?"),
        ({}, CERTAIN, "not asked", "", "Slip.", "slip?"),
        ({}, CERTAIN, "not asked", REPAIR, "Slip.", "slip?"),
        ({}, CERTAIN, "not asked", REPAIR_ELSEWHERE, f"Slip. {REPAIR_ELSEWHERE}", "slip?"),
        ({}, replace(CERTAIN, is_certain=False), "", "", "Means. Slip.", "slip?"),
        ({}, replace(CERTAIN, is_certain=False), "Ignores x.", "", "Means. Ignores x.", "nudge?"),
        ({}, replace(CERTAIN, is_certain=False), "", REPAIR, REPAIR, "nudge?"),
        ({"misconception": "of-the-lab"}, None, "not asked", "not asked", "Means.", "nudge?"),
        ({"misconception": "of-the-lab"}, CERTAIN, "", "not asked", "Slip. Means.", "slip?"),
        ({"misconception": "of-the-lab"}, replace(CERTAIN, is_certain=False), "", "not asked",
         "Means.", "nudge?"),
        ({"misconception": "of-the-lab", "is_partial": True}, None, "not asked", REPAIR, REPAIR, ""),
        ({"misconception": "of-the-lab", "is_partial": True}, None, "not asked", "", "Means.",
         "nudge?"),
        ({"verdict": Verdict.ERROR}, None, "not asked", REPAIR, f"Means. {REPAIR}", ""),
        ({"verdict": Verdict.ERROR}, None, "not asked", "", "Means.", "nudge?"),
        ({"verdict": Verdict.ERROR, "misconception": "axes-that-do-not-match"}, None, "not asked",
         REPAIR, f"Means. {REPAIR}", ""),
        ({"verdict": Verdict.ERROR, "misconception": "calls-itself"}, None, "", "not asked", "Means.",
         "nudge?"),
        ({"verdict": Verdict.PASS}, CERTAIN, "", "", "Means.", "nudge?"),
        ({"cause": "softmax"}, CERTAIN, "", REPAIR, "Means.", "nudge?"),
    ],
)  # fmt: skip
def test_a_finding_gets_the_explanations_that_add_to_it(
    finding, slip, dependence, repair, means, nudge, monkeypatch
):
    finding = make_finding(**{"verdict": Verdict.WRONG, "means": "Means.", **finding})
    monkeypatch.setattr(check_module, "_find_slip", lambda *_: slip)
    monkeypatch.setattr(check_module, "explain_by_arguments", lambda *_: dependence)
    monkeypatch.setattr(check_module, "find_repair", lambda *_: repair)
    lab = SimpleNamespace(call_seconds=60)
    monkeypatch.setattr(check_module.answer_key, "find_lab", lambda name: lab)
    key = SimpleNamespace(name="f", test_cases=[1, 2], rules=None, unused_arrays=())
    result = check_module._add_experimental_explanation(key, softmax, finding)
    assert (result.means, result.nudge) == (means, nudge)
    is_replaced = finding.is_partial and bool(repair)
    assert result.misconception == (None if is_replaced else finding.misconception)


def test_the_code_that_a_function_reaches_is_that_of_the_functions_that_it_calls():
    space = {"__name__": "__main__", "np": np, "number": 3}
    exec(
        compile(
            "def one(x):\n    return [two(i) for i in x]\ndef two(x):\n    return one(x) + number\n"
            "def three(x):\n    def inner():\n        return two(x)\n    return inner\n"
            "def other(x):\n    return x.two\ndef library(x):\n    return softmax(x)\n"
            "def make():\n    def two(x):\n        return x\n    def closed(x):\n"
            "        return two(x)\n    return closed\nclosed = make()",
            *("<cell>", "exec"),
        ),
        space,
    )

    def reach(name):
        codes = check_module._find_reachable_code(space[name], space)
        return {code.co_name for code in codes} - {"<listcomp>"}

    assert reach("one") == {"one", "two"}
    assert reach("three") == {"three", "inner", "two", "one"}
    assert reach("other") == {"other"}
    assert reach("closed") == {"closed", "two", "one"}
    assert check_module._find_global_names(space["three"], space) == {"two", "one", "number"}
    space["softmax"] = softmax
    assert reach("library") == {"library", "softmax"}
    for name, reached in (("library", {"library"}), ("softmax", {"softmax"})):
        codes = check_module._find_reachable_notebook_code(space[name], space)
        assert {code.co_name for code in codes} == reached


SHAPE_MISMATCH = "shapes-that-do-not-broadcast"
GENERAL = check_module.MISTAKES[SHAPE_MISMATCH][0]
TOO_MUCH_MEMORY = check_module.MISTAKES["too-much-memory"][0]


@pytest.mark.parametrize(
    ("misconception", "mistake", "kind", "means", "expected", "nudge"),
    [
        (None, SHAPE_MISMATCH, "error", f"A. {GENERAL}", "A. Line 3.", "line?"),
        (SHAPE_MISMATCH, SHAPE_MISMATCH, "error", f"A. {GENERAL}", "A. Line 3.", "line?"),
        ("of-the-lab", SHAPE_MISMATCH, "error", f"A. {GENERAL}", f"A. {GENERAL}", "nudge?"),
        (None, SHAPE_MISMATCH, "error", "A.", "A.", "nudge?"),
        (None, "other", "error", f"A. {GENERAL}", f"A. {GENERAL}", "nudge?"),
        (None, None, "not finite", "A. nan!", "A. A root (True).", "nudge?"),
        ("of-the-lab", None, "not finite", "A. nan!", "A. nan!", "nudge?"),
        (None, None, "values", "A. nan!", "A. nan!", "nudge?"),
        (
            "too-much-memory",
            None,
            "memory",
            TOO_MUCH_MEMORY,
            "Largest (7).",
            "Do you need all of it at",
        ),
    ],
)
def test_a_second_run_says_more_precisely_what_is_said_in_general(
    misconception, mistake, kind, means, expected, nudge, monkeypatch
):
    line = SimpleNamespace(means="Line 3.", nudge="line?")
    replacements = {
        "explain_failing_line": lambda answer, inputs: line,
        "describe_source_of_infinity": lambda case: "nan!",
        "explain_infinite_numbers": lambda answer, inputs, has_nan: f"A root ({has_nan}).",
        "describe_largest_array": lambda answer, inputs, peak_bytes: f"Largest ({peak_bytes}).",
    }
    for name, function in replacements.items():
        monkeypatch.setattr(check_module, name, function)
    lab = SimpleNamespace(call_seconds=60)
    monkeypatch.setattr(check_module.answer_key, "find_lab", lambda name: lab)
    case = SimpleNamespace(
        difference=SimpleNamespace(mistake=mistake, kind=kind, means=""),
        inputs=Inputs(),
        outcome=CallOutcome(peak_bytes=7),
    )
    finding = Finding(
        Verdict.ERROR, misconception=misconception, means=means, nudge="nudge?", shown_case=case
    )

    def run_again(call="function"):
        key = SimpleNamespace(name="f", rules=SimpleNamespace(call=call))
        return check_module._add_second_run(key, softmax, finding)

    result = run_again()
    assert result.means == expected and result.nudge.startswith(nudge)
    assert run_again("in place") is finding
    if expected.endswith("Line 3."):
        case.difference.means = "In other words."
        assert run_again() is finding, "the general sentence is another one"
        finding = replace(finding, means="A. In other words.")
        assert run_again().means == "A. Line 3."
        line = None
        assert run_again() is finding, "the line is not known"
    if kind == "not finite" and misconception is None:
        monkeypatch.setattr(check_module, "describe_source_of_infinity", lambda case: "A.")
        assert run_again().means == "A root (False). nan!"

    def take_too_long(*arguments):
        raise time_limit.TimeLimitExceeded("too long")

    for name in replacements:
        monkeypatch.setattr(check_module, name, take_too_long)
    assert run_again() is finding
    case.difference = None
    assert run_again() is finding
    finding = replace(finding, shown_case=None)
    assert run_again() is finding


def test_a_value_that_cannot_be_copied_is_given_itself():
    class Single:
        def __deepcopy__(self, memo):
            raise TypeError("there is one only")

    single, rows = Single(), [[1]]
    assert check_module._copy_if_possible(single) is single
    copy = check_module._copy_if_possible(rows)
    assert copy == rows and copy[0] is not rows[0]
