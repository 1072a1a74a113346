"""`check`, `ready` and `progress` as a student meets them."""

import ctypes
import json
import shutil
import signal
import threading
import time
from dataclasses import replace
from functools import partial

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from our_course import COURSE, ROOT

from autograder import keys, selfcheck, student
from autograder.authoring.lab import read_lab
from autograder.cells import id_of
from autograder.judging.judge import because
from autograder.judging.mistakes import NOT_WRITTEN
from autograder.judging.question import Inputs, Question, Rules
from autograder.probing import idle_in, what_moves
from autograder.selfcheck import NotebookError, check_notebook
from autograder.student import CheckFailed, check, criteria, progress, ready
from autograder.workspace import reset


def softmax(x, axis=0):
    e = np.exp(x)
    return e / e.sum(axis=axis, keepdims=True)


RIGHT = softmax


def named(function, name="softmax"):
    function.__name__ = name
    return function


def test_a_right_answer_gets_a_line_a_case_and_its_points(capsys):
    check(RIGHT)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) >= 5
    assert all(line.startswith("✓ ") for line in lines[:-1])
    assert lines[-1].startswith("softmax: right in all 8 cases, and at ")
    assert lines[-1].endswith("Next: stable_softmax.")
    assert "point" in lines[-1]


def test_a_known_mistake_is_explained_in_words_and_numbers(capsys):
    wrong = named(lambda x, axis=0: np.exp(x) / np.exp(x).sum())
    with pytest.raises(CheckFailed) as caught:
        check(wrong)
    out = capsys.readouterr().out
    assert "✗" in out
    assert "What it means:" in out
    assert "To think about:" in out
    assert "Expected:" in out
    assert caught.value._render_traceback_() == [str(caught.value._line)]
    assert "\n" not in caught.value._line


def test_what_is_counted_is_what_is_shown(capsys):
    def counted(function):
        with pytest.raises(CheckFailed) as caught:
            check(named(function))
        said = capsys.readouterr().out.splitlines()
        return caught.value._line, [line[0] for line in said if line[:2] in ("✓ ", "✗ ")]

    line, shown = counted(lambda x, axis=0: np.exp(x))
    assert line.endswith(f": {shown.count('✓')} of {len(shown)} cases are right.")

    def tired(x, axis=0):
        return stable(x, axis) if x.size < 2000 else x

    def stable(x, axis):
        return np.exp(x - x.max(axis, keepdims=True)) / np.exp(x - x.max(axis, keepdims=True)).sum(
            axis, keepdims=True
        )

    line, shown = counted(tired)
    right, wrong = shown.count("✓"), shown.count("✗")
    assert wrong and f"right in all {right} cases, wrong at {wrong} of " in line


def test_an_untouched_stub_gets_a_clean_message(capsys):
    def stub(x, axis=0):
        raise NotImplementedError

    with pytest.raises(CheckFailed) as caught:
        check(named(stub))
    assert caught.value._line == "softmax: not written yet."
    assert capsys.readouterr().out.startswith(NOT_WRITTEN)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (3, "check needs the function itself, not an int"),
        ("softmax", "check needs the function itself, not the text 'softmax'"),
        (np.ones(3), "check needs the function itself, not an ndarray"),
        (named(lambda x, axis=0: x, "sotfmax"), "No exercise is called 'sotfmax'"),
        (named(lambda: 1), "Your softmax() cannot be called as softmax(…): too many positional arguments."),
        (named(lambda x: x), "Put the stub's first line back as it was."),
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
            "Your function returned a text (str); a NumPy array of shape (3,) is due.",
        ),
    ],
)
def test_bad_results_get_one_sentence(answer, sentence, capsys):
    with pytest.raises(CheckFailed):
        check(named(answer))
    assert sentence in capsys.readouterr().out


def test_ready_says_what_a_cell_waits_for(capsys):
    assert ready(RIGHT)
    assert not ready(RIGHT, named(lambda x, axis=0: x))
    assert capsys.readouterr().out == "This cell waits for: softmax.\n"


@pytest.mark.parametrize("call", [lambda: check(RIGHT), lambda: ready(RIGHT), progress])
def test_without_its_answers_a_notebook_says_where_it_belongs(call, monkeypatch):
    monkeypatch.setattr(keys, "labs", dict)
    with pytest.raises(CheckFailed, match="a lab's notebook belongs beside its folder `answers`"):
        call()


def test_progress_counts_what_passed(capsys, monkeypatch):
    monkeypatch.setattr(student, "_passed", {})
    check(RIGHT)
    with pytest.raises(CheckFailed):
        check(named(lambda x, axis=0: x, "stable_softmax"))
    capsys.readouterr()
    progress()
    out = capsys.readouterr().out
    assert "✓ softmax" in out
    assert "✗ stable_softmax" in out
    assert "· calculate_weights" in out
    with pytest.raises(CheckFailed, match="There is no lab 'x'"):
        progress("x")


def test_a_certificate_is_shown_once_everything_has_passed(capsys, monkeypatch):
    names = list(student.keys.labs()["tiny-transformer"].points)
    for passed, shown in (dict.fromkeys(names[1:], True), False), (dict.fromkeys(names, True), True):
        monkeypatch.setattr(student, "_passed", passed)
        progress("tiny-transformer")
        assert ("You have come a long way" in capsys.readouterr().out) == shown
    monkeypatch.setattr(student, "_passed", dict.fromkeys(student.keys.exercises(), True))
    progress("qkv-attention")  # it has none
    assert capsys.readouterr().out.endswith("for what you explain in words.\n")


def test_check_shows_html_where_there_is_a_kernel(monkeypatch):
    """In a notebook the message comes with tables; its plain text stays for others."""
    import IPython

    shown = []
    shell = type("Shell", (), {"kernel": object()})()
    monkeypatch.setattr(IPython, "get_ipython", lambda: shell)
    monkeypatch.setattr("IPython.display.display", lambda data, raw: shown.append(data))
    with pytest.raises(CheckFailed):
        check(named(lambda x, axis=0: np.exp(x) / np.exp(x).sum()))
    assert "<caption" in shown[0]["text/html"]
    assert "img" not in shown[0]["text/html"]
    assert "What it means:" in shown[0]["text/plain"]


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
    assert capsys.readouterr().out.count("softmax: right in all") == 3


def test_a_stub_that_is_called_is_named_as_the_cause():
    def softmax(x, axis=0):
        raise NotImplementedError

    def stable_softmax(x, axis=0):
        return softmax(x - x.max(axis=axis, keepdims=True), axis)

    with pytest.raises(CheckFailed, match=because("softmax", written=False)):
        check(stable_softmax)


def test_a_wrong_answer_that_is_called_is_named_as_the_cause():
    def softmax(x, axis=0):
        return np.exp(x) / np.exp(x).sum()

    def stable_softmax(x, axis=0):
        return softmax(x - x.max(axis=axis, keepdims=True), axis)

    with pytest.raises(CheckFailed, match=because("softmax")):
        check(stable_softmax)


def test_what_an_answer_prints_is_shown_once(capsys):
    def softmax(x, axis=0):
        print("SHAPE", x.shape)
        return x

    with pytest.raises(CheckFailed):
        check(softmax)
    out = capsys.readouterr().out
    assert out.count("SHAPE") == 1
    assert "It printed:\nSHAPE (3,)" in out


@pytest.fixture(params=["by signal", "without signals"])
def hasty(request, monkeypatch):
    """A third of a second is allowed, on a system with signals and on one without."""
    if request.param == "without signals":
        monkeypatch.delattr(signal, "pthread_kill", raising=False)
    elif not hasattr(signal, "pthread_kill"):
        pytest.skip("this system has none")
    lab_of = keys.lab_of
    monkeypatch.setattr(keys, "lab_of", lambda name: replace(lab_of(name), call_seconds=0.3))
    yield request.param
    time.sleep(0.1)  # nothing is raised late


def burn(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def test_an_endless_loop_is_stopped_with_a_sentence(hasty):
    def softmax(x, axis=0):
        while True:
            try:  # noqa: SIM105
                x = x + 0
            except Exception:  # noqa: BLE001 - the deadline gets through all the same
                pass

    said = r"softmax: It did not end; 0.3 s are allowed\. It was busy with the case “.+”\."
    with pytest.raises(CheckFailed, match=said):
        check(softmax)
    assert not ready(softmax)


def test_a_bare_except_does_not_help(hasty):
    def softmax(x, axis=0):
        try:
            while True:
                x = x + 0
        except BaseException:  # noqa: BLE001
            return RIGHT(x, axis)

    with pytest.raises(CheckFailed, match="It did not end"):
        check(softmax)


def test_a_slow_answer_is_told_what_it_needs_and_where(hasty):
    calls = []

    def softmax(x, axis=0):
        if not calls:
            until = time.process_time() + 0.36
            while time.process_time() < until:
                pass
        calls.append(x)
        return RIGHT(x, axis)

    needs = r"It needs 1 s of the 0.3 allowed\. Most of the time went into line \d+: `while time.process_time"
    with pytest.raises(CheckFailed, match=needs):
        check(softmax)
    assert len(calls) > 1, "it was not stopped"


def test_an_answer_that_gets_on_is_slow_and_not_endless(hasty):
    def softmax(x, axis=0):
        burn(0.05)
        return RIGHT(x, axis)

    with pytest.raises(CheckFailed, match=r"It needs more than 0.45 s of the 0.3 allowed\."):
        check(softmax)


def test_a_slow_answer_is_not_endless_where_one_case_is_much_larger_than_the_others(hasty):
    calls = []

    def softmax(x, axis=0):
        calls.append(x)
        burn(0.05 if len(calls) == 1 else 5)
        return RIGHT(x, axis)

    with pytest.raises(CheckFailed, match=r"It needs more than 0.45 s of the 0.3 allowed\."):
        check(softmax)


def test_waiting_is_ended_by_the_clock(hasty):
    if hasty == "without signals":
        pytest.skip("what sleeps there is not woken")

    def softmax(x, axis=0):
        time.sleep(60)

    began = time.monotonic()
    with pytest.raises(CheckFailed, match=r"It did not end; 0.3 s are allowed\."):
        check(softmax)
    assert 1.8 < time.monotonic() - began < 30


def test_waiting_for_a_busy_machine_is_no_mistake(hasty):
    """By the clock it takes twice as long as is allowed; its CPU time is what counts."""
    calls = []

    def softmax(x, axis=0):
        if not calls:
            time.sleep(0.6)
        calls.append(x)
        return RIGHT(x, axis)

    check(softmax)


def test_where_there_are_neither_threads_nor_signals_answers_are_judged_all_the_same(hasty, monkeypatch):
    """A browser's Python, and a sandbox's, has neither these nor the interpreter's own functions to call."""

    def start(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.delattr(signal, "pthread_kill", raising=False)
    monkeypatch.delattr(ctypes, "pythonapi")
    monkeypatch.setattr(threading.Thread, "start", start)

    def softmax(x, axis=0):
        return RIGHT(x, axis)

    check(softmax)

    def softmax(x, axis=0):
        burn(0.05)
        return RIGHT(x, axis)

    with pytest.raises(CheckFailed, match=r"It needs \d+ s of the 0.3 allowed\."):
        check(softmax)


def test_a_lab_says_how_long_its_answers_may_take():
    assert keys.lab_of("blockwise_attention").call_seconds == 60
    assert keys.lab_of("softmax").call_seconds == 10


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


# What a question in words is marked by.

QUESTION = "explain-flat"


@pytest.fixture
def written(tmp_path, monkeypatch):
    """A saved notebook with a question's cell, beside its key, as the working directory."""

    def write(source):
        folder = tmp_path / "qkv-attention"
        shutil.copytree(COURSE.answers("qkv-attention"), folder / "answers", dirs_exist_ok=True)
        (folder / "answers" / keys.CRITERIA).write_bytes(
            keys.criteria_file({QUESTION: "**1 point** for all."})
        )
        cell = {"cell_type": "markdown", "metadata": {"nbgrader": {"grade_id": QUESTION}}, "source": source}
        (folder / "qkv-attention.ipynb").write_text(json.dumps({"cells": [cell]}))
        monkeypatch.chdir(folder)
        monkeypatch.delenv("AUTOGRADER_COURSE", raising=False)
        return folder

    yield write
    keys.forget()


def test_criteria_are_shown_once_an_answer_is_written(written, capsys):
    written("The weights are nearly uniform.")
    criteria()
    assert "**1 point** for all." in capsys.readouterr().out


@pytest.mark.parametrize("source", ["YOUR ANSWER HERE", "", "  \n"])
def test_criteria_are_not_shown_before(written, capsys, source):
    written(source)
    with pytest.raises(CheckFailed, match="write an answer of your own first and save"):
        criteria(QUESTION)
    assert "1 point" not in capsys.readouterr().out


def test_criteria_that_are_not_given_out_or_of_no_question(written):
    folder = written("Something.")
    with pytest.raises(CheckFailed, match="There is no question 'explain'"):
        criteria("explain")
    (folder / "answers" / keys.CRITERIA).unlink()
    with pytest.raises(CheckFailed, match="not given out in this course"):
        criteria(QUESTION)


def test_the_schemes_of_a_lab_belong_to_its_questions_and_stay_out_of_the_notebook():
    lab = read_lab(COURSE, "qkv-attention")
    schemes = lab.mark_schemes()
    assert set(schemes) == set(lab.by_hand) == {QUESTION}
    assert "1 point" in schemes[QUESTION]
    assert "BEGIN" not in schemes[QUESTION]
    assert "1 point" not in COURSE.released(lab.name).read_text("utf-8")
    assert keys.criteria_of(keys.labs()[lab.name]) == schemes


@pytest.mark.parametrize(
    "odd", [{"metadata": None}, {"metadata": {"nbgrader": []}}, {"metadata": "text"}, {}, None, 3]
)
def test_a_reset_in_a_notebook_with_a_cell_that_is_none(odd, tmp_path):
    path = tmp_path / "qkv-attention.ipynb"
    notebook = json.loads(COURSE.released("qkv-attention").read_text("utf-8"))
    stub = next(c for c in notebook["cells"] if id_of(c) == "softmax")
    before, stub["source"] = stub["source"], "def softmax(x, axis=0): ..."
    notebook["cells"].insert(
        0, {"cell_type": "markdown", "source": "", **odd} if isinstance(odd, dict) else odd
    )
    path.write_text(json.dumps(notebook))
    reset(path, "softmax", COURSE)
    again = json.loads(path.read_text("utf-8"))["cells"]
    assert next(c for c in again if isinstance(c, dict) and id_of(c) == "softmax")["source"] == before


def test_a_cell_that_never_ends_is_ended_by_its_cpu_time(tmp_path, monkeypatch):
    """At the command line, where the whole notebook is run: the clock would have let it run for an hour."""
    monkeypatch.setattr(selfcheck, "CELL_SECONDS", 1)
    monkeypatch.setattr(selfcheck, "PATIENCE", 3600)
    cells = [new_code_cell("import time; time.sleep(2)"), new_code_cell("while True: pass")]
    (tmp_path / "softmax.ipynb").write_text(
        nbformat.writes(
            new_notebook(
                cells=[*cells, new_code_cell("", metadata={"nbgrader": {"grade_id": "test-softmax"}})]
            )
        )
    )
    with pytest.raises(NotebookError, match="A cell needed more than 1 s; look for an endless loop"):
        check_notebook(tmp_path / "softmax.ipynb")


# Before and around a check


def test_a_function_of_another_name_is_told_the_names_of_this_lab_only(tmp_path, monkeypatch):
    (tmp_path / "qkv-attention.ipynb").write_text("{}")
    monkeypatch.setenv("AUTOGRADER_COURSE", str(ROOT))
    monkeypatch.chdir(tmp_path)

    def my_softmax(x, axis=0):
        return x

    with pytest.raises(CheckFailed, match="No exercise is called 'my_softmax'") as caught:
        exec("check(answer)", {"check": check, "answer": my_softmax})  # nothing else is defined there
    assert "stable_softmax" in str(caught.value) and "causal_mask" not in str(caught.value)


def test_defaults_that_are_arrays_do_not_fill_the_message():
    layer = np.ones((32, 10))

    def attention(encoder_states, decoder_state, l1=layer, layer_2=None):
        return encoder_states

    with pytest.raises(CheckFailed, match="unexpected keyword argument 'layer_1'") as caught:
        check(attention)
    assert "l1=…, layer_2=None) cannot be called" in str(caught.value) and len(str(caught.value)) < 300


def test_an_exercise_that_is_not_defined_yet_is_told_by_its_cell(capsys):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.set_custom_exc((NameError,), student._say_which_cell)
    shell.run_cell("check(softmax)\n", store_history=False)
    assert "name 'check' is not defined" in capsys.readouterr().out
    ran = shell.run_cell("softmax\n", store_history=False)
    said = capsys.readouterr().out
    assert "softmax is not there yet: run the cell in which you write it" in said
    assert "Traceback" not in said and isinstance(ran.error_in_exec, NameError)
    InteractiveShell.clear_instance()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (None, "softmax: its cell is missing; `autograder reset qkv-attention.ipynb softmax` puts it back."),
        (
            "def my_softmax(x):\n    pass",
            "softmax is not there: its cell defines my_softmax. Give the function the name",
        ),
        ("def softmax(x):\n    pass", "softmax is not there yet: run the cell in which you write it"),
        ("x = 3", "softmax is not there yet: run the cell in which you write it"),
    ],
)
def test_a_function_that_is_not_there_is_looked_for_in_the_saved_notebook(
    source, said, tmp_path, monkeypatch
):
    notebook = nbformat.read(COURSE.released("qkv-attention"), as_version=4)
    at = next(i for i, cell in enumerate(notebook.cells) if id_of(cell) == "softmax")
    if source is None:
        del notebook.cells[at]
    else:
        notebook.cells[at].source = source
    path = tmp_path / "qkv-attention.ipynb"
    nbformat.write(notebook, path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AUTOGRADER_COURSE", str(ROOT))
    assert student._why_missing("softmax").startswith(said)
    if source is None:
        reset(path, "softmax", COURSE)
        again = nbformat.read(path, as_version=4)
        assert [c.id for c in again.cells] == [
            c.id for c in nbformat.read(COURSE.released(path.stem), 4).cells
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
    output = nbformat.v4.new_output("error", ename="NameError", evalue="name 'softmax' is not defined")
    cell = nbformat.v4.new_code_cell(outputs=[output])
    assert "its cell is missing" in selfcheck._line("softmax", cell, "", is_there=False).message
    assert "an earlier cell failed: X" in selfcheck._line("softmax", cell, "X", is_there=True).message


# What a check asks again


def _odd(weights, values):
    return np.tanh(weights @ values) + 0.3


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda q, k, v: _odd(q @ q.T, v), "does not depend on `k`"),
        (lambda q, k, v: _odd(k @ q.T, v) - 0.3, "With `q` and `k` exchanged it gives what is due"),
        (lambda q, k, v: _odd(q @ k.T, v) + np.random.normal(), "Called twice with the same arguments"),
        (lambda q, k, v: _odd(q @ k.T, v.T) - 0.3, "With rows and columns of `v` exchanged"),
        (lambda q, k, v: _odd(q @ -k.T, v) - 0.3, "With the sign of `q` changed"),
        (lambda q, k, v: _odd(q @ k.T / 2, v) - 0.3, "With `q` multiplied by 2 it gives what is due"),
        (lambda q, k, v: _odd(q @ k.T * len(q) ** 0.5, v) - 0.3, "With `q` multiplied by 1/√n, where n is"),
        (lambda q, k, v: _odd(q @ k.T, 1 / v) - 0.3, "With 1 / `v` in place of `v`"),
        (lambda q, k, v: _odd(q @ k.T, v) - 0.3 + v, "What you return is what is due plus `v`"),
        (lambda q, k, v: _odd(q @ k.T, v) * v.mean(), ""),
        (lambda q, k, v: int(np.argmax(q)), ""),  # a place is often the same for other numbers
        (lambda q, k, v: 1 / 0, ""),
    ],
)
def test_what_moves_a_result_is_found_by_asking_again(answer, said):
    rng = np.random.default_rng(3)
    asked = []
    for n in (2, 4):
        given = Inputs(tuple(rng.normal(size=(n, n)) for _ in range(3)))
        asked.append(Question("", given, _odd(given.args[0] @ given.args[1].T, given.args[2]) - 0.3, {}))
    found = what_moves(answer, asked, Rules())
    assert said in found and bool(found) == bool(said)


def _asked(reference, *calls):
    return [Question("", Inputs(given), reference(*given), {}) for given in calls]


def test_a_row_beside_a_vector_and_places_in_whole_numbers_are_tried_too():
    asked = _asked(lambda x, row: 3 * x, *[(np.arange(float(n)), np.ones((1, n)) * n) for n in (8, 9)])
    assert "what is due minus `row`" in what_moves(lambda x, row: 3 * x - row[0], asked, Rules())
    asked = _asked(np.cos, (np.arange(5),), (np.arange(3, 9),))
    assert "With `x` multiplied by ½" in what_moves(lambda x: np.cos(2 * x), asked, Rules())


def test_another_value_for_an_argument_that_is_left_out():
    def right(x, axis=0):
        return x / x.sum(axis=axis, keepdims=True)

    def other(x, axis=-1):
        return right(x, axis)

    table = np.arange(1.0, 7).reshape(2, 3)
    said = what_moves(other, _asked(right, (table,)), Rules())
    assert said.startswith(
        "The call leaves `axis` out, and your function takes -1 for it; with 0 it gives what is due."
    )
    one_less = what_moves(lambda x, axis: right(x, axis - 1), _asked(right, (table, 1)), Rules())
    assert "leaves" not in one_less and "one larger" in one_less


def test_what_a_right_case_contradicts_is_not_said():
    def guarded(x):
        return np.zeros_like(x) if (x < 0).any() else 2 * x

    failing = _asked(lambda x: 2 * x, (np.array([-1.0, 2.0, 3.0]),), (np.array([1.0, -2.0, 3.0, 4.0]),))
    fine = _asked(lambda x: 2 * x, (np.array([1.0, 2.0, 3.0]),))
    assert "does not depend on `x`" in what_moves(guarded, failing, Rules())
    assert "does not depend" not in what_moves(guarded, failing, Rules(), fine=fine)


def test_settings_may_have_changed_places_or_be_counted_from_another_end():
    def due(x, rate=0.5, step=1, decay=0.25):
        return x * rate**step + decay

    def exchanged(x, rate=0.5, step=1, decay=0.25):
        return x * decay**step + rate

    def one_less(x, rate=0.5, step=1, decay=0.25):
        return due(x, rate, step - 1, decay)

    asked = _asked(due, (np.arange(3.0),), (np.arange(4.0), 0.3, 2, 0.7))
    assert "`rate` and `decay` exchanged" in what_moves(exchanged, asked, Rules())
    assert "With `step` one larger" in what_moves(one_less, asked, Rules())


def test_a_mask_that_is_read_the_other_way_round_says_so():
    mask = np.array([[True, False], [True, True]])
    asked = _asked(lambda x, m: np.where(m, x, 0.0), (np.ones((2, 2)), mask))
    assert "True and False exchanged in `m`" in what_moves(lambda x, m: np.where(m, 0.0, x), asked, Rules())


def test_of_a_count_it_is_said_what_is_counted_too_often_or_not_at_all():
    asked = _asked(lambda d, layers: 4 * d * d * layers, (8, 2), (16, 3), (4, 0), (6, 1))
    asked = [q for q in asked if q.expected]
    missing = what_moves(lambda d, layers: 3 * d * d * layers, asked, Rules())
    assert "yours is `d`² · `layers` too few" in missing
    assert "yours is 2 · `d` too many" in what_moves(
        lambda d, layers: 4 * d * d * layers + 2 * d, asked, Rules()
    )
    assert what_moves(lambda d, layers: 4 * d * d * layers + d % 5, asked, Rules()) == ""


def test_an_argument_may_be_a_type():
    given = Inputs((np.arange(4.0), np.float32))
    assert what_moves(lambda x, dtype: x * x, [Question("", given, given.args[0] * 3, {})], Rules()) == ""


def test_a_default_that_is_no_value_keeps_nothing_from_being_said_of_the_answer():
    asked = _asked(lambda x: x * 3, (np.arange(4.0),))
    assert what_moves(lambda x, library=np: library.abs(x), asked, Rules()) == ""


def test_entries_of_a_mapping_are_arguments_too():
    given = Inputs(({"gain": np.arange(3.0), "bias": np.arange(3.0) ** 2, "heads": 2}, np.ones(3)))
    asked = [Question("", given, given.args[1] * given.args[0]["gain"] + given.args[0]["bias"], {})]
    assert "`bias`" in what_moves(lambda p, x: x * p["gain"] + p["gain"], asked, Rules())
    exchanged = what_moves(lambda p, x: x * p["bias"] + p["gain"], asked, Rules())
    assert "`gain` and `bias` exchanged" in exchanged


def test_an_array_that_moves_nothing_in_a_right_result_is_not_held_against_a_wrong_one():
    rng = np.random.default_rng(4)
    given = Inputs(tuple(rng.normal(size=(3, 3)) for _ in range(3)))
    asked = [Question("", given, given.args[0] @ given.args[1], {})]

    def reference(a, b, bias):
        return a @ b

    def wrong(a, b, bias):
        return np.tanh(a @ b)

    assert idle_in(reference, asked, Rules()) == ("bias",)
    assert "does not depend on `bias`" in what_moves(wrong, asked, Rules())
    assert what_moves(wrong, asked, Rules(), idle_in(reference, asked, Rules())) == ""


def test_a_check_says_what_the_result_does_not_depend_on():
    def attention_qkv(queries, keys, values):
        return queries[:, :1] * 0.37 + values.sum(axis=0) ** 2

    with pytest.raises(CheckFailed, match="does not depend on `keys`"):
        check(attention_qkv)
